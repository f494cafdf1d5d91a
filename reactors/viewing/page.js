"use strict";
// One page for two uses: a report, whose data is in the page, and a view of a run, whose data comes while it runs.

const COLOURS = { "reactions": "var(--ran)", "engine": "var(--own)", "the rest": "var(--own)", "inputs": "#f59e0b", "a tag of others": "#fbbf24", "the clock": "#a3e635",
  "room": "#ef4444", "something to do": "#fde68a", "the end of others": "#e879f9", "the start": "#c084fc" };

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "style") for (const [key, each] of Object.entries(value)) node.style.setProperty(key, each);
    else node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function drawn(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function section(title, ...children) { return make("section", {}, make("h2", {}, title), ...children); }

function table(names, rows) {
  const head = make("tr", {}, ...names.map((name) => make("th", {}, name)));
  const body = rows.map((row) => make("tr", {}, ...row.map((cell) => make("td", typeof cell === "string" ? { class: "text" } : {}, cell instanceof Node ? cell : String(cell)))));
  return make("div", { class: "scrolls" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
}

function short(number) {
  if (number === null || !Number.isFinite(number)) return "-";
  const size = Math.abs(number);
  if (size >= 1e9) return (number / 1e9).toPrecision(3) + " G";
  if (size >= 1e6) return (number / 1e6).toPrecision(3) + " M";
  if (size >= 1e4) return (number / 1e3).toPrecision(3) + " k";
  return size && (size < 0.001) ? number.toExponential(2) : String(Number(number.toPrecision(4)));
}

function seconds(ns) {
  for (const [size, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "us"]]) if (Math.abs(ns) >= size) return (ns / size).toPrecision(4) + " " + unit;
  return Math.round(ns) + " ns";
}

// ---- where the time went ---------------------------------------------------------------------------------------

function bars(workers) {
  const seen = new Set();
  const rows = workers.map((worker) => {
    const bar = make("div", { class: "bar" });
    for (const [what, part] of worker.parts) {
      if (part <= 0.0005) continue;
      seen.add(what);
      bar.append(make("span", { title: `${what}: ${(100 * part).toFixed(1)} %`, style: { width: `${100 * part}%`, background: COLOURS[what] || "var(--line)" } }));
    }
    return [`worker ${worker.worker}`, bar, ...(worker.more || [])];
  });
  const legend = make("p", { class: "legend grey" }, ...[...seen].map((what) =>
    make("span", {}, make("i", { style: { background: COLOURS[what] || "var(--line)" } }), ["reactions", "engine", "the rest"].includes(what) ? what : `waits for ${what}`)));
  return [rows, legend];
}

// ---- curves ------------------------------------------------------------------------------------------------------

const hue = (n) => `hsl(${(n * 137.5 + 210) % 360} 60% 55%)`;

// Of one run, or of several, which have names.
function curve(name, runs, zero = false) {
  const points = runs.flatMap(([, each]) => each), finite = (point) => Number.isFinite(point[1]);
  const xs = points.map((point) => point[0]), ys = points.filter(finite).map((point) => point[1]);
  const left = Math.min(...xs), right = Math.max(...xs), high = Math.max(...ys), low = Math.min(...ys, zero ? 0 : high);
  const flat = high - low <= 1e-6 * Math.max(Math.abs(high), Math.abs(low));  // what is left of rounding is no curve
  const x = (value) => 600 * (value - left) / (right - left || 1), y = (value) => (flat ? 80 : 145 - 130 * (value - low) / (high - low));
  const svg = drawn("svg", { class: "curve", viewBox: "0 0 600 150", preserveAspectRatio: "none" });
  const legend = make("p", { class: "legend" });
  runs.forEach(([run, each], number) => {
    const path = drawn("path", { d: each.filter(finite).map(([a, b], n) => `${n ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("") });
    if (run) {
      path.style.stroke = hue(number);
      legend.append(make("span", {}, make("i", { style: { background: hue(number) } }), run));
    }
    svg.append(path);
  });
  const last = runs.length === 1 ? `${short(ys[ys.length - 1])}, ` : "";
  return make("figure", {}, svg, legend, make("figcaption", {}, `${name}: ${last}from ${short(low)} to ${short(high)}; ${short(left)} to ${short(right)}`));
}

// ---- the graph -----------------------------------------------------------------------------------------------------

function graph(text) {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  const frame = make("div", { class: "graph" });
  if (parsed.nodeName === "svg") frame.append(document.importNode(parsed, true));
  return frame;
}

function heat(load) {
  const part = Math.min(1, Math.max(0, load));
  return `rgb(255 ${Math.round(255 - 159 * part)} ${Math.round(255 - 255 * part)})`;
}

function paint(frame, loads) {
  for (const node of frame.querySelectorAll("g.node")) {
    const load = loads[node.querySelector("title")?.textContent];
    if (load === undefined) continue;
    for (const shape of node.querySelectorAll("path, polygon")) shape.setAttribute("fill", heat(load));
    [...node.querySelectorAll("text")].at(-1).textContent = `${(100 * load).toFixed(1)}%`;
  }
}

// ---- the timeline --------------------------------------------------------------------------------------------------

const ROW = 26, NUMBERS = 5, LISTED = 12, FIRST = 4;

function timeline(data) {
  const canvas = make("canvas", { height: ROW * data.workers.length + 22 }), said = make("p", { class: "grey" }, "scroll to zoom, drag to move");
  let from = 0, length = data.length;
  const shade = (name, n) => { const why = name.replace("waits for ", ""); return name.startsWith("waits for ") ? COLOURS[why] || "#ccc" : hue(n); };
  const at = (event) => from + length * (event.offsetX / canvas.clientWidth);
  function draw() {
    const width = canvas.width = Math.max(300, canvas.clientWidth * (window.devicePixelRatio || 1)), ratio = width / (canvas.clientWidth || width);
    canvas.height = (ROW * data.workers.length + 22) * ratio;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const ink = getComputedStyle(document.body).color, scale = width / ratio / length;
    data.workers.forEach((spans, worker) => {
      for (let i = 0; i < spans.length; i += NUMBERS) {
        const x = (spans[i + 1] - from) * scale, wide = spans[i + 2] * scale;
        if (x + wide < 0 || x > width / ratio) continue;
        const name = data.names[spans[i]], waits = name.startsWith("waits for ");
        pen.fillStyle = shade(name, spans[i]);
        pen.globalAlpha = waits ? 0.35 : 1;
        pen.fillRect(x, worker * ROW + (waits ? 9 : 3), Math.max(wide, 0.7), ROW - (waits ? 18 : 6));
        pen.globalAlpha = 1;
        if (wide > 60 && !waits) {
          pen.fillStyle = "#0f172a";
          pen.font = "11px system-ui, sans-serif";
          pen.save(); pen.beginPath(); pen.rect(x, worker * ROW, wide, ROW); pen.clip();
          pen.fillText(name, Math.max(x, 0) + 3, worker * ROW + 17);
          pen.restore();
        }
      }
    });
    pen.fillStyle = ink;
    pen.font = "11px system-ui, sans-serif";
    pen.fillText(`${seconds(data.from + from)} after the start`, 3, ROW * data.workers.length + 15);
    pen.textAlign = "right";
    pen.fillText(`${seconds(length)} wide`, width / ratio - 3, ROW * data.workers.length + 15);
  }
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const here = at(event), factor = Math.exp(event.deltaY / 300);
    length = Math.min(data.length, Math.max(100, length * factor));
    from = here - length * (event.offsetX / canvas.clientWidth);
    from = Math.min(data.length - length, Math.max(0, from));
    draw();
  }, { passive: false });
  canvas.addEventListener("pointermove", (event) => {
    if (event.buttons) {
      from = Math.min(data.length - length, Math.max(0, from - event.movementX * length / canvas.clientWidth));
      draw();
    }
    const time = at(event), spans = data.workers[Math.floor(event.offsetY / ROW)] || [];
    for (let i = 0; i < spans.length; i += NUMBERS) {
      if (spans[i + 1] > time || spans[i + 1] + spans[i + 2] < time) continue;
      said.textContent = `${data.names[spans[i]]}, ${seconds(spans[i + 2])}, at tag (${seconds(spans[i + 3])}, ${spans[i + 4]})`;
    }
  });
  new ResizeObserver(draw).observe(canvas);
  const legend = make("p", { class: "legend grey" }, ...data.names.slice(0, LISTED).map((name, n) => make("span", {}, make("i", { style: { background: shade(name, n) } }), name)));
  return [canvas, said, legend];
}

// ---- a report --------------------------------------------------------------------------------------------------------

function report(data) {
  document.title = data.title;
  const page = document.getElementById("page");
  page.replaceChildren(make("header", {}, make("h1", {}, data.title), ...data.said.map((line) => make("p", { class: "grey" }, line))));
  for (const [title, names, rows] of data.tables) page.append(section(title, table(names, rows)));
  const drawn = data.curves.map(([name, runs]) => curve(name, runs));
  if (drawn.length) page.append(section("Curves", make("div", { class: "curves" }, ...drawn.slice(0, FIRST))));
  if (data.graph) page.append(section("Graph", graph(data.graph), ...data.timeline ? [make("p", { class: "grey" }, "The redder a reaction, the more of its worker's time it took.")] : []));
  if (data.workers.length) {
    const [rows, legend] = bars(data.workers);
    page.append(section("Where the time went", table(["", ""], rows), legend));
  }
  if (data.limits.length) page.append(section("What limits it", ...data.limits.map((line) => make("p", {}, line))));
  if (data.predicted.length) page.append(section("What other numbers of workers would give", table(["workers, placed best", "seconds", "times as fast as now", "busy"], data.predicted), ...data.assumed.map((line) => make("p", { class: "grey" }, line))));
  if (data.timeline) page.append(section("A part of the run", ...timeline(data.timeline)));
  if (drawn.length > FIRST) page.append(section("More curves", make("div", { class: "curves" }, ...drawn.slice(FIRST))));
  if (data.reactions.length) page.append(section("Reactions", table(["reaction", "count", "total", "mean", "share"], data.reactions)));
  for (const [title, facts] of data.facts) page.append(section(title, table(["", ""], facts.map(([name, value]) => [name, make("code", {}, value)]))));
}

// ---- a view of a run that goes on --------------------------------------------------------------------------------------

const live = { rates: [], frame: null, parts: {} };

function begin(data) {
  document.title = data.title;
  const page = document.getElementById("page"), parts = live.parts;
  for (const name of ["said", "rate", "workers", "reactions", "curves", "processes"]) parts[name] = make("div", { id: name });
  live.frame = data.graph ? graph(data.graph) : null;
  page.replaceChildren(make("header", {}, make("h1", {}, data.title)), parts.said, section("Reactions a second", parts.rate), section("Workers", parts.workers),
    live.frame ? section("Graph", live.frame) : null, section("Reactions", parts.reactions), parts.curves, section("Processes", parts.processes));
}

function update(data) {
  const parts = live.parts;
  live.rates.push([data.seconds, data.rate]);
  if (live.rates.length > 600) live.rates.shift();
  parts.said.replaceChildren(make("p", {}, `${data.over ? "over" : "running"}, ${data.seconds.toFixed(1)} s, tag `, make("code", { id: "tag" }, data.tag), `, ${short(data.count)} reactions`));
  parts.rate.replaceChildren(curve("reactions a second", [["", live.rates]], true));
  const [rows, legend] = bars(data.workers);
  parts.workers.replaceChildren(table(["", "", "tag", "reactions/s", "tags/s"], rows), legend);
  parts.reactions.replaceChildren(table(["reaction", "runs/s", "of a worker's time", "late"], data.reactions));
  if (live.frame) paint(live.frame, data.loads);
  if (data.curves.length) parts.curves.replaceChildren(section("Curves", make("div", { class: "curves" }, ...data.curves.map(([name, runs]) => curve(name, runs)))));
  parts.processes.replaceChildren(table(["process", "memory, MB", "processor time, s"], data.processes));
}

async function watch() {
  const token = location.hash.slice(1);
  const answer = await fetch("events", { headers: { Authorization: `Bearer ${token}` } });
  if (!answer.ok) {
    document.getElementById("page").replaceChildren(make("p", { class: "warning" }, "The address lacks the token that `reactors view` has printed, or it is another one."));
    return;
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const events = text.split("\n\n");
    text = events.pop();
    for (const event of events) {
      if (!event.startsWith("data: ")) continue;
      const data = JSON.parse(event.slice(6));
      if (data.begin) begin(data); else update(data);
    }
  }
}

const embedded = document.getElementById("data");
if (embedded) report(JSON.parse(embedded.textContent));
else watch();
