const ALIKE = 3; // so many blocks are in colour
function difference(parent, values) {
  const width = 150, step = 11, left = 68, rows = header.blocks.map((name, b) => [name, values[b]]).filter((row) => row[1] !== null);
  const best = new Set([...rows].sort((a, b) => a[1] - b[1]).slice(0, ALIKE).map((row) => row[0]));
  const words = rows.map(([name, value]) => `${name} ${value.toFixed(2)}`).join(", ");
  const svg = draw(parent, "svg", { viewBox: `0 0 ${width} ${step * rows.length + 2}`, role: "img", "aria-label": `Differences: ${words}` });
  draw(svg, "title", {}, words);
  rows.forEach(([name, value], k) => {
    const y = 1 + k * step, long = (width - left) * Math.min(1, value);
    draw(svg, "text", { x: left - 4, y: y + 8, "text-anchor": "end", class: "block" }, name);
    draw(svg, "rect", { x: left, y: y + 1, width: Math.max(1, long), height: step - 3, fill: best.has(name) ? COLOURS[2] : "#9a9a9a", rx: 1 });
  });
}

document.title = `${header.name} · heatfield search`;
node("name").textContent = header.name;
node("stamp").textContent = header.stamp;
for (const [name, words] of header.facts) {
  const row = make(node("facts"), "tr");
  make(row, "td", name);
  make(row, "td", words);
}
for (const query of header.queries) {
  const section = make(node("found"), "section");
  make(section, "h2", header.files[query.i]);
  const grid = make(section, "div", undefined, { class: "cards" });
  const card = make(grid, "div", undefined, { class: "card query" });
  portrait(card, query.i);
  make(card, "p", "query");
  query.hits.forEach(([j, distance, values], rank) => {
    const hit = make(grid, "div", undefined, { class: "card" });
    portrait(hit, j);
    const words = make(hit, "p", `${rank + 1}. at ${distance}`);
    if (header.labels[j]) {
      make(words, "br");
      const label = make(words, "b", header.labels[j]);
      label.style.color = colour(j);
    }
    difference(hit, values);
  });
}
window.hits = { ready: true };
