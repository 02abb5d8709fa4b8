#!/usr/bin/env -S node --experimental-websocket
// Opens the browser's viewer in headless Chromium, clicks, scrubs, and compares a frame
// with the one that `muse render` draws.
//
//   node --experimental-websocket scripts/viewer-browser-test.mjs RUN [OUT]
//
// MUSE is the program (default bin/muse), WEB the folder with the viewer (default that
// beside it), CHROMIUM the browser. Needs Node 20.10 or later, Chromium, and ImageMagick's compare.
import { spawn, execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync, rmSync, existsSync, statSync } from "node:fs";
import { join } from "node:path";

const run = process.argv[2], out = process.argv[3] ?? "runs/viewer-browser-test";
const muse = process.env.MUSE ?? "bin/muse", web = process.env.WEB ?? "bin/viewer-web";
const patience = Number(process.env.PATIENCE ?? 60) * 1000;
if (!run) { console.error("usage: viewer-browser-test.mjs RUN [OUT]"); process.exit(2); }
mkdirSync(out, { recursive: true });
const children = [];
const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
const start = (cmd, args, opts) => { const c = spawn(cmd, args, opts); children.push(c); return c; };
const finish = (code) => { for (const c of children) c.kill(); process.exit(code); };
process.on("uncaughtException", (e) => fail(e.message));
process.on("unhandledRejection", (e) => fail(e.message));
const fail = (why) => { console.error("viewer-browser-test: " + why); finish(1); };

async function until(what, f) {
  for (const end = Date.now() + patience; Date.now() < end; await sleep(25)) {
    const v = await f();
    if (v) return v;
  }
  fail("no " + what + " after " + patience / 1000 + " s");
}

// The server says its address on standard output.
const server = start(muse, ["watch", "--http", "--addr", "127.0.0.1:0", "--web", web, run], { stdio: ["ignore", "pipe", "inherit"] });
let url = "";
server.stdout.on("data", (b) => { url += b; });
await until("address of the server", () => url.includes("\n"));
url = url.trim();

const profile = join(out, "profile");
rmSync(profile, { recursive: true, force: true });
start(process.env.CHROMIUM ?? "chromium", ["--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
  "--disable-dev-shm-usage", "--hide-scrollbars", "--force-device-scale-factor=1", "--window-size=1280,800",
  "--user-data-dir=" + profile, "--remote-debugging-port=0", "about:blank"], { stdio: "ignore" });
const port = await until("debugging port", () => { try { return readFileSync(join(profile, "DevToolsActivePort"), "utf8").split("\n")[0]; } catch { return ""; } });
const page = await until("page", async () => { try { return (await (await fetch(`http://127.0.0.1:${port}/json`)).json()).find((t) => t.type === "page"); } catch { return null; } });

// The few words of the debugging protocol that are needed.
const socket = new WebSocket(page.webSocketDebuggerUrl);
await new Promise((r, e) => { socket.onopen = r; socket.onerror = e; });
const waiting = new Map(), requests = [];
let number = 0;
socket.onmessage = (m) => {
  const d = JSON.parse(m.data);
  if (d.id) { waiting.get(d.id)?.(d); waiting.delete(d.id); }
  if (d.method === "Network.requestWillBeSent") requests.push(d.params.request.url);
};
const send = (method, params = {}) => new Promise((r, e) => {
  const id = ++number;
  waiting.set(id, (d) => (d.error ? e(new Error(method + ": " + d.error.message)) : r(d.result)));
  socket.send(JSON.stringify({ id, method, params }));
});
const value = async (js) => (await send("Runtime.evaluate", { expression: js, returnByValue: true })).result.value;
const state = async () => JSON.parse((await value("window.museState ? museState() : '{}'")) || "{}");
const names = { Enter: 13, Escape: 27, ArrowRight: 39, ArrowLeft: 37, End: 35, Home: 36 };
async function key(k) {
  const special = k in names;
  const code = special ? k : /[a-z]/.test(k) ? "Key" + k.toUpperCase() : /[0-9]/.test(k) ? "Digit" + k : k === " " ? "Space" : k;
  const e = { key: k, code, windowsVirtualKeyCode: special ? names[k] : k.toUpperCase().charCodeAt(0), text: special ? undefined : k };
  await send("Input.dispatchKeyEvent", { type: "keyDown", ...e });
  await sleep(60);
  await send("Input.dispatchKeyEvent", { type: "keyUp", ...e, text: undefined });
}
const mouse = (type, x, y) => send("Input.dispatchMouseEvent", { type, x, y, button: "left", buttons: type === "mouseReleased" ? 0 : 1, clickCount: 1 });
async function shot(name) {
  await until("quiet", async () => (await state()).settled);
  await sleep(Number(process.env.SETTLE ?? 500));
  const file = join(out, name + ".png");
  writeFileSync(file, Buffer.from((await send("Page.captureScreenshot", { format: "png" })).data, "base64"));
  return file;
}

await send("Network.enable");
await send("Page.enable");
await send("Emulation.setDeviceMetricsOverride", { width: 1280, height: 800, deviceScaleFactor: 1, mobile: false });
const began = Date.now();
await send("Page.navigate", { url });
await until("first picture", () => value("!document.getElementById('wait') && document.title === 'muse'"));
const ready = Date.now() - began;
await shot("1-list");
await key("3");
await until("filter", async () => (await state()).title?.includes("list, failed"));
await key("/");
await until("search", async () => (await state()).title?.includes("searching"));
for (const c of process.env.FIND ?? "muse-best") await key(c);
await until("typed search", async () => (await state()).title?.includes(`searching "${process.env.FIND ?? "muse-best"}"`));
await key("Enter");
await until("end of the search", async () => (await state()).title?.includes('search "'));
await key("Enter");
await until("episode", async () => (await state()).watching);
const episode = (await state()).episode;
await key("ArrowRight");
await until("second command", async () => (await state()).command === 1);
await shot("2-episode");
await mouse("mouseMoved", 300, 680); // scrub in the diagram of P
await mouse("mousePressed", 300, 680);
await sleep(200);
await mouse("mouseMoved", 420, 680);
await until("dragged command", async () => (await state()).command === 35);
await mouse("mouseReleased", 420, 680);
const frame = await shot("3-scrubbed");
await key(" ");
await until("playing", async () => (await state()).command > 36);
await key(" ");
await key("c");
await until("comparison", async () => (await state()).screen === 2);
await shot("4-compared");

// The same frame without a browser. Tolerance: no pixel may differ by more than 1 %.
const drawn = join(out, "3-rendered.png");
execFileSync(muse, ["render", run, "--episode", String(episode + 1), "--at", "36", "-o", drawn], { stdio: "ignore" });
let differ = "0";
try { execFileSync("compare", ["-metric", "AE", "-fuzz", "1%", frame, drawn, "null:"], { stdio: ["ignore", "ignore", "pipe"] }); } catch (e) { differ = String(e.stderr).trim(); }
const foreign = requests.filter((u) => !u.startsWith(url) && !u.startsWith("data:"));
const report = { ready_ms: ready, wasm_gz_bytes: statSync(join(web, "viewer.wasm.gz")).size, pixels_that_differ: Number(differ), requests: requests.length, requests_elsewhere: foreign };
console.log(JSON.stringify(report, null, 2));
if (Number(differ) !== 0) fail("the browser's frame is another than muse render's: " + frame + ", " + drawn);
if (foreign.length) fail("the page asked elsewhere: " + foreign.join(" "));
finish(0);
