"use strict";
// Everything that models write is put into the page by textContent: it is text,
// whatever it looks like.
const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const dims = ["ER", "CE", "EM", "CI", "PI"];
const samples = ["What is the capital of California?", "How does the FFT work?", "Do we use 10 % of our brain?"];
const parts = {
  CE: ["Logic", "Facts", "Fit"], EM: ["Knowledge", "History", "Cues"],
  CI: ["Internal", "Sources", "Time"], PI: ["Consequences", "Urgency", "Scope"],
};
let run = null, controller = null, dimension = "all";

function el(name, attrs, text) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attrs || {})) e.setAttribute(k, v);
  if (text !== undefined) e.textContent = text;
  return e;
}
function svg(name, attrs, text) {
  const e = document.createElementNS(SVG, name);
  for (const [k, v] of Object.entries(attrs || {})) e.setAttribute(k, v);
  if (text !== undefined) e.textContent = text;
  return e;
}
function show(id, on) { $(id).hidden = !on; }
function state(s, text) { document.body.dataset.state = s; if (text !== undefined) $("status").textContent = text; }
function token() { return new URLSearchParams(location.hash.slice(1)).get("token"); }
function headers() {
  const h = { "Content-Type": "application/json" };
  if (token()) h.Authorization = "Bearer " + token();
  return h;
}
function pressable(e, f) {
  e.setAttribute("tabindex", "0");
  e.setAttribute("role", "button");
  e.addEventListener("click", f);
  e.addEventListener("keydown", (k) => { if (k.key === "Enter" || k.key === " ") { k.preventDefault(); f(); } });
}

// radar draws named values of 0 to 100 on rings at 25, 50, 75 and 100.
function radar(axes, size) {
  const c = size / 2, r = c - 34, n = axes.length;
  const s = svg("svg", { viewBox: `0 0 ${size} ${size}`, width: size, height: size, role: "img" });
  s.setAttribute("aria-label", axes.map((a) => `${a.name} ${Math.round(a.value)}`).join(", "));
  const at = (i, v) => {
    const w = -Math.PI / 2 + 2 * Math.PI * i / n;
    return [c + r * v / 100 * Math.cos(w), c + r * v / 100 * Math.sin(w)];
  };
  for (const v of [25, 50, 75, 100]) {
    s.append(svg("circle", { class: "ring", cx: c, cy: c, r: r * v / 100, "data-ring": v }));
    s.append(svg("text", { x: c + 2, y: c - r * v / 100 - 1, opacity: .6 }, String(v)));
  }
  axes.forEach((a, i) => {
    const [x, y] = at(i, 100), [tx, ty] = at(i, 116);
    s.append(svg("line", { class: "axis", x1: c, y1: c, x2: x, y2: y }));
    s.append(svg("text", { x: tx, y: ty + 4, "text-anchor": "middle" }, a.name));
  });
  s.append(svg("polygon", { class: "area", points: axes.map((a, i) => at(i, a.value).join(",")).join(" ") }));
  axes.forEach((a, i) => {
    const [x, y] = at(i, a.value);
    const d = svg("circle", { class: a.by ? "dot measured" : "dot", cx: x, cy: y, r: 4 });
    d.append(svg("title", {}, a.name + " " + Math.round(a.value) + (a.by ? `, measured by ${a.by} (self-reported ${Math.round(a.self)})` : ", self-reported")));
    s.append(d);
  });
  return s;
}

function axesOf(st) {
  if (dimension === "all") return dims.map((d) => ({ name: d, value: 100 * st.values[d] }));
  if (dimension === "ER") {
    const list = (st.vector.emotions || []).map((e) => ({ name: e.name, value: 100 * e.share }));
    while (list.length < 3) list.push({ name: "–", value: 0 });
    return list;
  }
  return parts[dimension].map((k) => {
    const p = st.vector[k], m = p.measured;
    return { name: k, value: 100 * (m === undefined ? p.self : m), by: p.by, self: 100 * p.self };
  });
}

function drawStates() {
  const box = $("radars");
  box.replaceChildren();
  for (const st of run.states) {
    const f = el("figure");
    if (st.rated) f.append(radar(axesOf(st), 210));
    f.append(el("figcaption", st.rated ? {} : { class: "bad" }, st.node + (st.rated ? "" : ": no rating")));
    box.append(f);
  }
  show("states", run.states.length > 0);
}

function drawGraph() {
  if (!run.result || !run.result.graph || !run.result.graph.roles) return;
  const g = run.result.graph, names = Object.keys(g.roles), size = 340, c = size / 2, r = c - 62;
  const s = svg("svg", { viewBox: `0 0 ${size} ${size}`, width: size, height: size });
  const pos = {};
  names.forEach((n, i) => {
    const w = -Math.PI / 2 + 2 * Math.PI * i / names.length;
    pos[n] = names.length === 1 ? [c, c] : [c + r * Math.cos(w), c + r * Math.sin(w)];
  });
  for (const e of g.edges || []) {
    const [x1, y1] = pos[e.from], [x2, y2] = pos[e.to];
    const mx = (x1 + x2) / 2 + (y2 - y1) * .12, my = (y1 + y2) / 2 - (x2 - x1) * .12; // bend: there are two directions
    const p = svg("path", { class: "edge", d: `M${x1},${y1} Q${mx},${my} ${x2},${y2}`, "stroke-width": .5 + 4 * e.weight, opacity: .15 + .75 * e.weight });
    p.append(svg("title", {}, `${e.from} → ${e.to}: ${e.weight.toFixed(2)} = ${e.base.toFixed(2)} × ${e.mu.toFixed(2)}`));
    s.append(p);
  }
  for (const n of names) {
    const [x, y] = pos[n];
    const b = svg("circle", { class: "bubble" + (run.node === n ? " on" : ""), cx: x, cy: y, r: 22, "data-node": n, "aria-label": `${n}, ${g.roles[n]}` });
    b.append(svg("title", {}, `${n}: ${g.roles[n]}`));
    pressable(b, () => { run.node = n; drawGraph(); drawNode(); });
    s.append(b, svg("text", { x, y: y + 36, "text-anchor": "middle" }, g.roles[n]), svg("text", { x, y: y + 49, "text-anchor": "middle", opacity: .7 }, n.length > 22 ? n.slice(0, 21) + "…" : n));
  }
  $("graph").replaceChildren(s);
  show("roles", true);
}

function drawNode() {
  const n = run.node;
  if (!n) { $("node").textContent = ""; return; }
  const said = run.contributions.filter((x) => x.node === n);
  const st = run.states.find((x) => x.node === n);
  let t = `${n}: ${run.result.graph.roles[n]}\n`;
  if (st && !st.rated) t += `no rating: ${st.error}\n`;
  t += said.length ? said.map((x) => "\n" + (x.error ? "lost: " + x.error : x.text)).join("\n") : "\n(no contribution)";
  $("node").textContent = t;
}

function drawContributions() {
  const list = $("list");
  list.replaceChildren();
  for (const x of run.contributions) {
    const li = el("li");
    let head = `${x.role} (${x.node})`;
    if (x.weight) head += `, weight ${Math.round(100 * x.weight)} %`;
    if (x.confidence >= 0) head += `, confidence ${Math.round(x.confidence)}`;
    if (x.cluster > 1) head += `, merged from ${x.cluster}`;
    li.append(el("strong", {}, head));
    li.append(el("div", { class: x.error ? "text bad" : "text" }, x.error || x.text));
    list.append(li);
  }
  show("contributions", run.contributions.length > 0);
}

function drawSystem(r) {
  show("system", true);
  $("s1").className = r.system === 1 ? "on" : "";
  $("s2").className = r.system === 2 ? "on" : "";
  $("reason").textContent = `System ${r.system}: ${r.reason}`;
}

// drawTree shows the paths, each below its parent.
function drawTree() {
  const all = run.paths, ids = Object.keys(all).map(Number).sort((a, b) => a - b);
  if (!ids.length) return;
  const depth = {}, row = {};
  ids.forEach((id, i) => { depth[id] = all[id].parent >= 0 ? depth[all[id].parent] + 1 : 0; row[id] = i; });
  const w = 360, h = 30, s = svg("svg", { viewBox: `0 0 ${w} ${h * ids.length + 6}`, width: w, height: h * ids.length + 6 });
  for (const id of ids) {
    const p = all[id], x = 6 + 26 * Math.min(depth[id], 6), y = 3 + h * row[id];
    if (p.parent >= 0) {
      const px = 16 + 26 * Math.min(depth[p.parent], 6), py = 3 + h * row[p.parent] + 24;
      s.append(svg("path", { class: "branch", d: `M${px},${py} V${y + 12} H${x}` }));
    }
    const cls = "leaf" + (p.chosen ? " won" : "") + (p.lost || p.cancelled ? " lost" : "") + (run.path === id ? " on" : "");
    const box = svg("rect", { class: cls, x, y, width: w - x - 6, height: 24, rx: 5, "data-path": id });
    let label = `${id} ${p.origin || ""}`;
    if (p.score !== undefined && p.score !== null) label += `  ${p.score.toFixed(3)}`;
    if (p.answer) label += `  ${p.answer}`;
    if (p.lost) label += "  lost"; else if (p.cancelled) label += "  cancelled"; else if (p.finished === false && p.text) label += "  unfinished";
    if (label.length > 46) label = label.slice(0, 45) + "…";
    box.append(svg("title", {}, `path ${id}` + (p.parent >= 0 ? `, from ${p.parent}` : "")));
    pressable(box, () => { run.path = id; drawTree(); });
    const t = svg("text", { x: x + 7, y: y + 16, "pointer-events": "none" }, label);
    s.append(box, t);
  }
  $("paths").replaceChildren(s);
  const p = all[run.path];
  $("path").textContent = p ? (p.lost ? "lost: " + p.lost : (p.text || "…")) : "";
  show("tree", true);
}

function fromEvent(kind, v) {
  if (kind === "ensemble") {
    if (v.state) { run.states.push(v.state); run.states.sort((a, b) => a.node < b.node ? -1 : 1); drawStates(); }
    if (v.contribution) { run.contributions.push(v.contribution); drawContributions(); if (run.node) drawNode(); }
    if (v.result) { run.result = v.result; if (v.result.system) drawSystem(v.result); drawGraph(); }
    if (v.note) $("status").textContent = `phase ${v.phase}: ${v.note}`;
  } else if (kind === "deliberate") {
    if (v.path >= 0) {
      const p = run.paths[v.path] = run.paths[v.path] || { parent: -1, text: "" };
      if (v.kind === "begin") p.origin = v.note;
      if (v.kind === "piece") p.text += v.piece;
      if (v.kind === "score") p.score = v.score;
      if (v.kind === "path" && v.note !== "unfinished") p.answer = v.note;
      if (v.kind === "lost") p.lost = v.note;
      if (v.kind === "cancelled") p.cancelled = true;
      if (v.kind === "chosen") p.chosen = true;
      schedule();
    }
    if (v.note && v.kind !== "begin") $("status").textContent = `${v.kind}: ${v.note}`;
  } else if (kind === "gate") {
    show("decision", true);
    $("gate").textContent = (v.decision.fire ? "The critic was asked" : "The critic was not asked") + ": " + v.decision.reason + (v.corrected ? ". It corrected the draft:\n" + v.draft : "");
  }
}

let drawing = false;
function schedule() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => { drawing = false; drawTree(); });
}

function finish(v) {
  show("answer", true);
  $("text").textContent = v.text;
  const m = v.muse || {};
  if (m.system === "ensemble") {
    run.result = m.result; run.states = m.result.states; run.contributions = m.result.contributions;
    drawSystem(m.result); drawStates(); drawGraph(); drawContributions(); drawNode();
    $("synthesis").textContent = "Synthesis: " + m.result.synthesis + (m.result.early_stop ? `. Early stop: ${m.result.early_stop}` : "");
  } else if (m.system === "deliberate") {
    for (const p of m.paths || []) run.paths[p.id] = { ...p, chosen: p.id === m.chosen };
    run.path = m.chosen;
    drawTree();
    $("synthesis").textContent = m.reason + (m.judged ? `; confidence ${m.confidence.toFixed(3)}` : "; not judged");
  }
  $("usage").textContent = `${v.usage.prompt_tokens} prompt and ${v.usage.completion_tokens} completion tokens` + (v.usage.usage_estimated ? " (estimated)" : "");
  state("done", "");
}

async function ask(question) {
  run = { states: [], contributions: [], paths: {}, result: null, node: null, path: null };
  for (const id of ["system", "decision", "answer", "states", "roles", "contributions", "tree"]) show(id, false);
  for (const id of ["synthesis", "usage", "node", "path", "text"]) $(id).textContent = "";
  state("running", "asking …");
  $("send").disabled = true; show("stop", true);
  controller = new AbortController();
  let ended = false;
  try {
    const r = await fetch("ui/ask", { method: "POST", headers: headers(), signal: controller.signal, body: JSON.stringify({ messages: [{ role: "user", content: question }] }) });
    if (!r.ok) throw new Error(`${r.status}: ${((await r.json()).error || {}).message}`);
    const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      rest += value;
      const events = rest.split("\n\n");
      rest = events.pop();
      for (const e of events) {
        if (!e.startsWith("data: ")) continue;
        const m = JSON.parse(e.slice(6));
        if (m.kind === "answer") { ended = true; finish(m.value); }
        else if (m.kind === "error") throw new Error(m.value);
        else if (m.error) throw new Error(m.error.message);
        else fromEvent(m.kind, m.value);
      }
    }
    if (!ended) throw new Error("the connection ended before the answer");
  } catch (err) {
    state("error", controller.signal.aborted ? "stopped" : String(err.message || err));
  }
  $("send").disabled = false; show("stop", false);
}

function start() {
  for (const q of samples) {
    const b = el("button", { type: "button" }, q);
    b.addEventListener("click", () => { $("query").value = q; if (!$("send").disabled) ask(q); });
    $("samples").append(b);
  }
  for (const d of ["all", ...dims]) {
    const b = el("button", { type: "button", "aria-pressed": String(d === dimension), "data-dimension": d }, d === "all" ? "all five" : d);
    b.addEventListener("click", () => {
      dimension = d;
      for (const x of $("dimensions").children) x.setAttribute("aria-pressed", String(x === b));
      if (run) drawStates();
    });
    $("dimensions").append(b);
  }
  $("form").addEventListener("submit", (e) => { e.preventDefault(); const q = $("query").value.trim(); if (q) ask(q); });
  $("stop").addEventListener("click", () => controller && controller.abort());
  fetch("ui/about", { headers: headers() }).then((r) => r.json()).then((a) => {
    const x = a.about || {};
    $("about").textContent = x.system === "deliberate" ? `thinker and judge, mode ${x.mode}` : x.system === "ensemble" ? "ensemble with state vectors" : x.system ? "critic gate" : "";
  }).catch(() => {}).finally(() => state("ready"));
}
start();
