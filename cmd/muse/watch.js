// Starts the viewer: loads it with its progress shown, then hands the page over.
"use strict";
(async () => {
  const say = document.getElementById("say");
  try {
    if (typeof WebAssembly !== "object") throw new Error("this browser has no WebAssembly");
    const answer = await fetch("viewer.wasm");
    if (!answer.ok) throw new Error(await answer.text());
    const go = new Go();
    const program = await WebAssembly.instantiateStreaming(answer, go.importObject);
    say.textContent = "Reading the run …";
    // The program calls this when its first picture is there.
    window.museReady = () => { document.getElementById("wait").remove(); document.title = "muse"; };
    window.museFailed = (why) => { say.textContent = why; document.getElementById("bar").remove(); };
    await go.run(program.instance);
    document.title = "muse: closed";
  } catch (e) {
    say.textContent = "The viewer can't be started: " + e.message;
  }
})();
