// The page: what is shown, and what follows when something changes.
let data;

class View {
  constructor() {
    this.canvas = this.node("canvas");
    this.quantities = Object.values(header.quantities);
    this.state = { scale: header.start, quantity: this.quantities[0], low: 0, high: header.most, picked: -1, size: 1 };
    this.camera = new Camera(this.canvas);
    this.hasBody = N === 2 || N === 3;
    this.inMotion = false;
    this.before = 0;  // when the last frame in motion was drawn
    this.stats = { ready: 0 };
    try { this.scene = new Scene(this.canvas); } catch (error) { this.message(error.message); }
    this.words();
    if (this.scene) { wireCanvas(this.canvas, this); new ResizeObserver(() => this.redraw()).observe(this.canvas); }
    wireKeys(this);
    wirePanel(this);
    const preferred = window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    this.setTheme(header.theme === "auto" ? preferred : header.theme);
    this.setRange(0, header.most);
  }

  // A value by the row of the file, for use in the console: heatfield.value("dimension", 3, 0).
  value(name, scale, row) { return data.value(header.quantities[name], scale, data.rows.indexOf(row)); }

  node(id) { return document.getElementById(id); }

  message(words) { this.node("message").textContent = words; this.node("message").hidden = !words; }

  // Everything that is said once. Names come from files and go in as text.
  words() {
    document.title = `${header.name} · heatfield`;
    this.node("name").textContent = header.name;
    this.node("facts").textContent = header.facts;
    this.node("notes").textContent = header.notes.join(" ");
    this.node("gestures").textContent = this.camera.flat ? "Drag to move, wheel or pinch to zoom, click a point for its profile." : "Drag to turn, shift or right button to move, wheel or pinch to zoom, click a point for its profile.";
    this.node("scale").max = T - 1;
    for (const id of ["low", "high"]) this.node(id).max = header.most;
    this.node("alpha-value").textContent = this.node("alpha").value;
    this.node("body-section").hidden = !this.hasBody;
    for (const quantity of this.quantities) {
      const option = document.createElement("option");
      option.textContent = quantity.label;
      this.node("colour").append(option);
    }
  }

  setScale(scale) {
    this.state.scale = Math.min(Math.max(scale, 0), T - 1);
    const t = header.scales[this.state.scale], length = Math.sqrt(t);
    this.node("scale").value = this.state.scale;
    this.node("scale-label").textContent = `scale s${this.state.scale} of s0 … s${T - 1}`;
    this.node("scale-words").textContent = `√t = ${lengthWords(this.state.scale)}: looks about ${short(2 * length / header.nearest)} point spacings, or ${short(100 * 2 * length / header.diameter)} % of the cloud's extent, to each side.`;
    this.repaint();
    if (this.node("body").checked) this.showBody();
  }

  setColour(index) {
    if (index < 0 || index >= this.quantities.length) return;
    this.state.quantity = this.quantities[index];
    this.node("colour").selectedIndex = index;
    this.repaint();
  }

  setTheme(name) {
    theme = name;
    document.documentElement.dataset.theme = name;
    this.setScale(this.state.scale);
  }

  setRange(low, high) {
    Object.assign(this.state, { low, high });
    this.node("low").value = low;
    this.node("high").value = high;
    this.node("low-value").textContent = low.toFixed(2);
    this.node("high-value").textContent = high >= header.most ? "all" : high.toFixed(2);
    this.countRange();
    this.redraw();
  }

  countRange() {
    const { low, high, scale } = this.state, q = header.quantities.dimension;
    const codes = data.codes(q, scale), [first, last] = data.range(q, scale), top = header.top;
    if (low <= 0 && high >= header.most) { this.node("range-words").textContent = "All points are shown. Narrow the range to isolate, say, filaments: 0.5 to 1.5."; return; }
    let inside = 0;
    for (let i = 0; i < data.m; i++) { const d = first + (last - first) * codes[i] / top; if (d >= low - 1e-5 && (high >= header.most || d <= high + 1e-5)) inside++; }
    this.node("range-words").textContent = `${count(inside)} of ${count(data.m)} points (${short(100 * inside / data.m)} %) at ${scaleWords(scale)}; the others are grey.`;
  }

  // Colours, legend and charts after a change of scale, quantity or theme.
  repaint() {
    if (this.scene) this.scene.paint(this.state.quantity, this.state.scale);
    const legend = this.node("legend"), title = document.createElement("b");
    title.textContent = this.state.quantity.label;
    legend.replaceChildren(title, ...legendOf(this.state.quantity, this.state.scale).map((entry) => {
      const row = document.createElement("div"), swatch = document.createElement("span"), value = document.createElement("span"), words = document.createElement("span");
      row.className = "entry"; swatch.className = "swatch"; value.className = "value";
      swatch.style.background = entry.colour;
      value.textContent = entry.value;
      words.textContent = entry.words;
      row.append(swatch, ...(entry.value ? [value] : []), words);
      return row;
    }));
    drawSpectrum(this.node("spectrum"), this.state, (scale) => this.setScale(scale));
    this.countRange();
    this.profile();
    this.redraw();
  }

  pick(i) { this.state.picked = i; this.profile(); this.redraw(); }

  profile() {
    const i = this.state.picked;
    this.node("profile").replaceChildren();
    this.node("profile-words").textContent = "Click a point to see how its neighbourhood looks from fine to coarse.";
    this.node("profile-title").textContent = "One point";
    if (i < 0) return;
    const d = data.value(header.quantities.dimension, this.state.scale, i), type = TYPE_NAMES[data.value(header.quantities.type, this.state.scale, i)];
    this.node("profile-title").textContent = `Point in row ${count(data.rows[i])}`;
    drawProfile(this.node("profile"), this.state);
    const place = header.projected ? "" : `at (${data.place(i).slice(0, N).map((v) => Number(v.toPrecision(7))).join(", ")}). `;
    this.node("profile-words").textContent = `${place}Dimension ${short(d)} at ${scaleWords(this.state.scale)}, ${dimensionWords(d)}. Type: ${type}.`;
  }

  hover(at) {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.tip(this.scene.pick(...at, this.camera, this.state), at); });
  }

  tip(i, at) {
    const tip = this.node("tip");
    tip.hidden = i < 0;
    if (i < 0) return;
    const { quantity, scale } = this.state, d = data.value(header.quantities.dimension, scale, i), value = data.value(quantity, scale, i);
    const more = quantity.kind === "dimension" ? "" : `\n${quantity.label}: ${quantity.kind === "type" ? TYPE_NAMES[value] : short(quantity.kind === "density" ? 10 ** value : value)}`;
    tip.textContent = `row ${count(data.rows[i])}\ndimension ${short(d)}, ${dimensionWords(d)}${more}`;
    tip.style.left = `${Math.min(at[0] + 14, this.canvas.clientWidth - 180)}px`;
    tip.style.top = `${Math.min(at[1] + 14, this.canvas.clientHeight - 70)}px`;
  }

  showBody() {
    if (!this.scene) return;
    const words = this.node("body-words");
    if (!this.node("body").checked) { this.body = null; this.scene.setSurface(null); words.textContent = "Where the heat field is at least α times its largest value on the points."; this.redraw(); return; }
    const alpha = Number(this.node("alpha").value);
    this.body = heatBody(header.scales[this.state.scale], alpha);
    this.scene.setSurface(this.body.problem ? null : this.body);
    words.textContent = this.body.problem ?? `${N === 3 ? "Volume" : "Area"} ${short(this.body.measure)}${header.unit ? ` ${header.unit}${N === 3 ? "³" : "²"}` : ""} at ${scaleWords(this.state.scale)}, on a grid of ${this.body.cells.join(" × ")} nodes${header.shown < header.points ? ", from the points shown" : ""}.`;
    this.redraw();
  }

  play() {
    const button = this.node("play"), running = Boolean(this.timer);
    clearInterval(this.timer);
    this.timer = running ? null : setInterval(() => this.setScale((this.state.scale + 1) % T), 900);
    button.textContent = running ? "▶" : "❚❚";
    button.setAttribute("aria-pressed", String(!running));
  }

  help() {
    const help = this.node("help");
    help.hidden = !help.hidden;
    this.node("help-button").setAttribute("aria-expanded", String(!help.hidden));
  }

  moved() { this.inMotion = true; clearTimeout(this.rest); this.tip(-1); this.redraw(); }

  redraw() {
    if (!this.scene || this.asked) return;
    this.asked = true;
    requestAnimationFrame((now) => this.frame(now));
  }

  frame(now) {
    this.asked = false;
    this.scene.draw(this.state, this.camera, this.inMotion);
    this.mark();
    if (this.inMotion) {
      this.pace(now);
      clearTimeout(this.rest);
      this.rest = setTimeout(() => { this.inMotion = false; this.before = 0; this.redraw(); }, 250);
    }
  }

  // Fewer points while moving if frames take long, more if there is time.
  pace(now) {
    const took = now - this.before;
    this.before = now;
    if (!(took > 0 && took < 2000)) return;  // the first frame of a movement
    if (took > 40) this.scene.moving = Math.max(10000, Math.round(Math.max(0.5, 36 / took) ** 0.5 * this.scene.moving));
    else if (took < 25) this.scene.moving = Math.min(data.m, Math.round(1.08 * this.scene.moving));
  }

  // A ring around the picked point.
  mark() {
    let ring = this.node("ring");
    if (this.state.picked < 0) { if (ring) ring.remove(); return; }
    if (!ring) { ring = document.createElement("div"); ring.id = "ring"; this.node("stage").append(ring); }
    const [x, y] = this.scene.locate(this.state.picked, this.camera);
    ring.hidden = x < 0 || y < 0 || x > this.canvas.clientWidth || y > this.canvas.clientHeight;
    ring.style.transform = `translate(${x}px, ${y}px)`;
  }
}

unpack().then((buffer) => {
  data = new Data(buffer);
  window.heatfield = new View();
  requestAnimationFrame(() => requestAnimationFrame(() => { window.heatfield.stats.ready = performance.now(); }));
}).catch((error) => {
  const place = document.getElementById("message");
  place.textContent = `The page could not be opened: ${error.message}`;
  place.hidden = false;
  throw error;
});
