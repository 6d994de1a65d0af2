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
const classColour = (c) => COLOURS[c] ?? header.colours?.[c] ?? COLOURS[Math.max(0, c) % COLOURS.length];
const colour = (i) => classColour(classOf(i));
// Corners of the mark of a class around 0, none for a circle: every eight classes have another shape.
const SHAPES = [[], [[-1, -1], [1, -1], [1, 1], [-1, 1]], [[0, -1.25], [1.15, 0.9], [-1.15, 0.9]], [[0, -1.35], [1.35, 0], [0, 1.35], [-1.35, 0]], [[0, 1.25], [1.15, -0.9], [-1.15, -0.9]]];
function mark(parent, x, y, r, c, attributes = {}) {
  const corners = SHAPES[Math.floor(Math.max(0, c) / 8) % SHAPES.length], fill = classColour(c);
  if (!corners.length) return draw(parent, "circle", { cx: x, cy: y, r, fill, ...attributes });
  const points = corners.map(([a, b]) => `${x + 0.9 * r * a},${y + 0.9 * r * b}`).join(" ");
  return draw(parent, "polygon", { points, fill, ...attributes });
}
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
