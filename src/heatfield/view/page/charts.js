// The two charts of the panel. All text goes in as text, never as markup.
const SPACE = "http://www.w3.org/2000/svg";
function draw(parent, name, attributes, words) {
  const node = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (words !== undefined) node.textContent = words;
  parent.append(node);
  return node;
}
function sheet(parent, width, height, label) {
  parent.replaceChildren();
  return draw(parent, "svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
}

// Shares of each dimension stacked to one, with the current scale marked.
function drawSpectrum(parent, state, choose) {
  const [width, height, left, top, bottom] = [318, 128, 26, 6, 20];
  const svg = sheet(parent, width, height, "Heat dimension spectrum over the scales");
  const x = (a) => left + (width - left - 4) * (T > 1 ? a / (T - 1) : 0.5), y = (s) => top + (height - top - bottom) * (1 - s);
  const sums = header.hds.map(() => 0), all = ramps().dimension, names = [];
  for (let k = 0; k <= N; k++) {
    const below = sums.slice();
    header.hds.forEach((shares, a) => { sums[a] += shares[k]; });
    const path = sums.map((s, a) => `${x(a)},${y(s)}`).concat(below.map((s, a) => `${x(a)},${y(s)}`).reverse());
    const area = draw(svg, "polygon", { points: path.join(" "), fill: all[Math.min(k, 3)], opacity: 0.85 });
    draw(area, "title", {}, `dimension ${k}: ${DIMENSION_WORDS[Math.min(k, 3)]}`);
    let widest = 0;
    header.hds.forEach((shares, a) => { if (shares[k] > header.hds[widest][k]) widest = a; });
    const middle = (below[widest] + sums[widest]) / 2;
    if (header.hds[widest][k] > 0.16) names.push(() => {
      const edge = widest === 0 ? "start" : widest === T - 1 ? "end" : "middle";
      draw(svg, "text", { x: x(widest) + (edge === "start" ? 4 : edge === "end" ? -4 : 0), y: y(middle) + 3, "text-anchor": edge, class: "on" }, DIMENSION_WORDS[Math.min(k, 3)].replace("an isolated ", ""));
    });
  }
  names.forEach((name) => name());  // over all areas
  for (const s of [0, 0.5, 1]) draw(svg, "text", { x: left - 4, y: y(s) + 3, "text-anchor": "end" }, `${100 * s}`);
  draw(svg, "text", { x: left, y: height - 4 }, lengthWords(0));
  draw(svg, "text", { x: width - 4, y: height - 4, "text-anchor": "end" }, lengthWords(T - 1));
  draw(svg, "text", { x: 0, y: height - 4 }, "%");
  draw(svg, "line", { x1: x(state.scale), x2: x(state.scale), y1: top - 4, y2: height - bottom + 4, class: "mark", id: "now" });
  draw(svg, "text", { x: Math.min(Math.max(x(state.scale), left + 55), width - 60), y: height - 4, "text-anchor": "middle", class: "strong" }, `s${state.scale}: √t ${lengthWords(state.scale)}`);
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    choose(Math.min(Math.max(Math.round(((event.clientX - box.left) * width / box.width - left) / (width - left - 4) * (T - 1)), 0), T - 1));
  });
}

// Small curves of one point over all scales, and its type at each.
function drawProfile(parent, state) {
  const i = state.picked, q = header.quantities;
  const spectra = Object.keys(q).filter((name) => q[name].kind === "spectrum").slice(0, 3);
  const values = (name) => Array.from({ length: T }, (_, a) => data.value(q[name], a, i));
  const charts = [
    { title: "heat dimension", lines: [values("dimension")], low: 0, high: Math.max(N, 1), colours: [ramps().dimension[1]], ticks: Array.from({ length: N + 1 }, (_, k) => k) },
    { title: "transition", lines: [values("transition")], colours: [ramps().transition.at(-1)], zero: true },
    { title: "2tλ: 0 along, −1 across", lines: spectra.map(values), low: -1, high: 0.5, colours: [ramps().type[1], ramps().type[2], ramps().type[3]], ticks: [-1, 0] },
    { title: "log₁₀ density", lines: [values("density")], colours: [ramps().density.at(-2)] },
  ];
  // Every other signature over scales has a chart of its own.
  for (const [name, { label, kind, steps }] of Object.entries(q)) {
    const known = ["dimension", "transition", "density"].includes(name) || ["type", "spectrum"].includes(kind);
    if (!known && steps > 1) charts.push({ title: label, lines: [values(name)], colours: [ramps()[kind].at(-2)] });
  }
  const [width, height, gap] = [318, 18 + 92 * Math.ceil(charts.length / 2), 20], w = (width - gap - 40) / 2, h = 62;
  const svg = sheet(parent, width, height, "Profile of the selected point over the scales");
  charts.forEach((chart, n) => {
    const left = 26 + (n % 2) * (w + gap + 14), top = 16 + Math.floor(n / 2) * (h + 30);
    const known = chart.lines.flat().filter(Number.isFinite);
    let low = Math.min(...known, chart.low ?? Infinity, chart.zero ? 0 : Infinity), high = Math.max(...known, chart.high ?? -Infinity, chart.zero ? 0 : -Infinity);
    if (!(high > low)) { low -= 0.5; high += 0.5; }
    const x = (a) => left + w * (T > 1 ? a / (T - 1) : 0.5), y = (v) => top + h * (1 - (v - low) / (high - low));
    draw(svg, "text", { x: left, y: top - 5, class: "strong" }, chart.title);
    for (const tick of chart.ticks ?? [low, high]) {
      draw(svg, "line", { x1: left, x2: left + w, y1: y(tick), y2: y(tick), class: "axis" });
      draw(svg, "text", { x: left - 4, y: y(tick) + 3, "text-anchor": "end" }, short(tick));
    }
    if (chart.zero && low < 0 && high > 0) draw(svg, "line", { x1: left, x2: left + w, y1: y(0), y2: y(0), class: "axis" });
    chart.lines.forEach((line, k) => {
      const points = line.map((v, a) => (Number.isFinite(v) ? `${x(a)},${y(v)}` : null)).filter(Boolean);
      draw(svg, "polyline", { points: points.join(" "), class: "curve", stroke: chart.colours[k] });
      if (Number.isFinite(line[state.scale])) draw(svg, "circle", { cx: x(state.scale), cy: y(line[state.scale]), r: 3.2, fill: chart.colours[k] });
    });
    draw(svg, "line", { x1: x(state.scale), x2: x(state.scale), y1: top, y2: top + h, class: "axis" });
    draw(svg, "text", { x: left, y: top + h + 11 }, lengthWords(0));
    draw(svg, "text", { x: left + w, y: top + h + 11, "text-anchor": "end" }, lengthWords(T - 1));
  });
  const types = q.type, step = (width - 30) / T;
  for (let a = 0; a < T; a++) {
    const code = data.value(types, a, i);
    const box = draw(svg, "rect", { x: 26 + a * step, y: height - 14, width: step - 3, height: 10, rx: 3, fill: ramps().type[code], stroke: a === state.scale ? "currentColor" : "none" });
    draw(box, "title", {}, `${scaleWords(a)}: ${TYPE_NAMES[code]}`);
  }
  draw(svg, "text", { x: 0, y: height - 5 }, "type");
}
