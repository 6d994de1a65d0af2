// All names come from files and folders: they go in as text, never as markup.
const header = JSON.parse(document.getElementById("header").textContent);
const COLOURS = ["#3b62c4", "#e06a0a", "#1b9e77", "#d4147a", "#b8860b", "#7d7d7d", "#66a61e", "#8a7fd0", "#00a0c0", "#a05030", "#e0559a", "#405060", "#c0b000", "#9050c0", "#208040"];
const SPACE = "http://www.w3.org/2000/svg";
const node = (id) => document.getElementById(id);
function make(parent, name, words, attributes = {}) {
  const made = document.createElement(name);
  if (words !== undefined) made.textContent = words;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent.append(made);
  return made;
}
function draw(parent, name, attributes, words) {
  const made = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (words !== undefined) made.textContent = words;
  parent.append(made);
  return made;
}
const classOf = (i) => (header.labels ? header.classes.indexOf(header.labels[i]) : 0);
const colour = (i) => COLOURS[classOf(i) % COLOURS.length];
const short = (file) => file.split(/[\\/]/).pop();

function thumbnail(canvas, i) {
  const text = atob(header.sketches[i]), size = canvas.width, paint = canvas.getContext("2d");
  paint.clearRect(0, 0, size, size);
  paint.fillStyle = colour(i);
  const dot = Math.max(1.6, size / 36);
  for (let k = 0; k + 1 < text.length; k += 2) {
    const x = 0.06 + 0.88 * text.charCodeAt(k) / 255, y = 0.94 - 0.88 * text.charCodeAt(k + 1) / 255;
    paint.fillRect(size * x - dot / 2, size * y - dot / 2, dot, dot);
  }
}

// Thumbnails are drawn when they come into sight, and all of them before printing.
const waiting = new Map();
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) reveal(entry.target);
}, { rootMargin: "200px" });
function reveal(canvas) {
  if (!waiting.has(canvas)) return;
  thumbnail(canvas, waiting.get(canvas));
  waiting.delete(canvas);
  watcher.unobserve(canvas);
}
window.addEventListener("beforeprint", () => [...waiting.keys()].forEach(reveal));
function portrait(parent, i) {
  const figure = make(parent, "figure", undefined, { title: header.files[i] });
  const canvas = make(figure, "canvas", undefined, { width: 96, height: 96 });
  make(figure, "figcaption", short(header.files[i]));
  waiting.set(canvas, i);
  watcher.observe(canvas);
}

function drawMap() {
  const places = header.map.places, width = 940, height = 520, edge = 16;
  node("map-words").textContent = header.map.words + (header.map.method === "none" ? "" : " Hover a dot to see the cloud.");
  if (header.map.method === "none") return;
  const low = [0, 1].map((k) => Math.min(...places.map((p) => p[k]))), high = [0, 1].map((k) => Math.max(...places.map((p) => p[k])));
  const at = (p) => [edge + (width - 2 * edge) * (p[0] - low[0]) / (high[0] - low[0] || 1), height - edge - (height - 2 * edge) * (p[1] - low[1]) / (high[1] - low[1] || 1)];
  const svg = draw(node("map"), "svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${header.map.method} of all clouds` });
  const dots = places.map((p, i) => {
    const [x, y] = at(p);
    const dot = draw(svg, "circle", { cx: x, cy: y, r: places.length > 600 ? 3.5 : 5, fill: colour(i), class: "dot" });
    draw(dot, "title", {}, header.files[i]);
    dot.addEventListener("pointerenter", () => card(i, dot));
    return dot;
  });
  svg.addEventListener("pointerleave", () => { node("card").hidden = true; });
  header.classes.forEach((name, c) => {
    const button = make(node("legend"), "button", undefined, { "aria-pressed": "true" });
    make(button, "i").style.background = COLOURS[c % COLOURS.length];
    button.append(name);
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(on));
      dots.forEach((dot, i) => { if (classOf(i) === c) dot.style.display = on ? "" : "none"; });
    });
  });
}
let shown = null;
function card(i, dot) {
  if (shown) shown.classList.remove("now");
  shown = dot;
  dot.classList.add("now");
  const place = node("card");
  place.hidden = false;
  place.style.left = dot.getAttribute("cx") > 600 ? "8px" : "auto";
  thumbnail(place.querySelector("canvas"), i);
  place.querySelector("p").textContent = `${header.files[i]}\n${header.labels ? header.labels[i] + "\n" : ""}${header.points[i].toLocaleString("en")} points`;
}

function bars(parent, title, rows) {
  const width = 440, step = 24, left = 120, most = Math.max(0.01, ...rows.map((row) => row[1] + row[2]));
  make(parent, "h3", title);
  const svg = draw(parent, "svg", { viewBox: `0 0 ${width} ${step * rows.length + 6}`, role: "img", "aria-label": title });
  rows.forEach(([name, loss, spread], k) => {
    const x = (v) => left + (width - left - 60) * Math.max(0, v) / most, y = 4 + k * step;
    draw(svg, "text", { x: left - 8, y: y + 13, "text-anchor": "end" }, name);
    draw(svg, "rect", { x: left, y, width: Math.max(1, x(loss) - left), height: step - 7, fill: COLOURS[0], rx: 2 });
    draw(svg, "line", { x1: x(loss - spread), x2: x(loss + spread), y1: y + 8.5, y2: y + 8.5, stroke: "currentColor" });
    draw(svg, "text", { x: x(loss + spread) + 6, y: y + 13 }, (100 * loss).toFixed(1));
  });
}

function tables() {
  for (const [name, words] of header.facts) { const row = make(node("facts"), "tr"); make(row, "td", name); make(row, "td", words); }
  const fill = (id, rows, act) => {
    if (!rows.length) { node(id).querySelector("table").replaceWith("None."); return; }
    rows.forEach((entry, k) => act(make(node(id).querySelector("table"), "tr"), entry, k));
  };
  fill("outliers", header.outliers, (row, entry) => { portrait(make(row, "td"), entry.i); make(row, "td", header.files[entry.i]); make(row, "td", entry.why); });
  fill("broken", header.broken, (row, [file, place, problem]) => { make(row, "td", file); make(row, "td", place); make(row, "td", problem); });
  fill("near", header.map.method === "none" ? [] : header.files, (row, file, i) => {
    row.dataset.text = `${file} ${header.labels ? header.labels[i] : ""}`.toLowerCase();
    portrait(make(row, "td"), i);
    make(row, "td", header.labels ? header.labels[i] : "");
    const cell = make(row, "td");
    header.neighbours[i].forEach((j) => portrait(cell, j));
  });
  node("find").addEventListener("input", (event) => {
    const wanted = event.target.value.toLowerCase();
    for (const row of node("near").querySelectorAll("tr")) row.hidden = !row.dataset.text.includes(wanted);
  });
}

document.title = `${header.name} · heatfield report`;
node("name").textContent = header.name;
node("stamp").textContent = header.stamp;
node("spectra").src = header.spectra;
drawMap();
tables();
if (header.separation.reason) {
  node("separation").replaceChildren(node("separation").querySelector("h2"), header.separation.reason);
} else {
  node("accuracy").textContent = header.separation.words;
  node("confusion").src = header.confusion;
  bars(node("blocks"), "block of the descriptor", header.separation.blocks);
  bars(node("scales"), "scale, fine to coarse", header.separation.scales);
}
window.report = { ready: true };
