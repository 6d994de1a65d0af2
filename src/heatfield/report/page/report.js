function drawMap() {
  const places = header.map.places, width = 940, height = 520, edge = 16;
  node("map-words").textContent = header.map.words + (header.map.method === "none" ? "" : " Hover a dot to see the cloud.");
  if (header.map.method === "none") return;
  const low = [0, 1].map((k) => Math.min(...places.map((p) => p[k]))), high = [0, 1].map((k) => Math.max(...places.map((p) => p[k])));
  const at = (p) => [edge + (width - 2 * edge) * (p[0] - low[0]) / (high[0] - low[0] || 1), height - edge - (height - 2 * edge) * (p[1] - low[1]) / (high[1] - low[1] || 1)];
  const svg = draw(node("map"), "svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${header.map.method} of all clouds` });
  const dots = places.map((p, i) => {
    const [x, y] = at(p);
    const dot = mark(svg, x, y, places.length > 600 ? 3.5 : 5, classOf(i), { class: "dot", "data-x": x });
    draw(dot, "title", {}, header.files[i]);
    dot.addEventListener("pointerenter", () => card(i, dot));
    return dot;
  });
  svg.addEventListener("pointerleave", () => { node("card").hidden = true; });
  header.classes.forEach((name, c) => {
    const button = make(node("legend"), "button", undefined, { "aria-pressed": "true" });
    mark(draw(button, "svg", { viewBox: "-7 -7 14 14" }), 0, 0, 5, c);
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
  place.style.left = Number(dot.dataset.x) > 600 ? "8px" : "auto";
  thumbnail(place.querySelector("canvas"), i);
  place.querySelector("p").textContent = `${header.files[i]}\n${header.labels ? header.labels[i] + "\n" : ""}${header.points[i].toLocaleString("en")} points`;
}

function bars(parent, title, rows) {
  const width = 440, step = 24, left = 150, most = Math.max(0.01, ...rows.map((row) => row[1] + row[2]));
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
  bars(node("scales"), "scale and its length √t", header.separation.scales);
}
window.report = { ready: true };
