// Hands and keys: pointers on the canvas, the panel, the keyboard.
function wireCanvas(canvas, view) {
  const pointers = new Map();
  let pressed = null, travelled = 0;
  const inUnits = (x, y) => {
    const side = Math.min(canvas.clientWidth, canvas.clientHeight) / 2;
    return [(x - canvas.clientWidth / 2) / side, -(y - canvas.clientHeight / 2) / side];
  };
  const local = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, local(event));
    if (pointers.size === 1) { pressed = local(event); travelled = 0; } else pressed = null;
    view.tip(-1);
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = local(event), before = pointers.get(event.pointerId);
    if (!before) { if (event.pointerType !== "touch") view.hover(now); return; }
    const [dx, dy] = [now[0] - before[0], now[1] - before[1]], side = Math.min(canvas.clientWidth, canvas.clientHeight) / 2;
    travelled += Math.hypot(dx, dy);
    if (pointers.size === 1) {
      if (view.camera.flat || event.shiftKey || event.buttons & 6) view.camera.move(dx / side, -dy / side);
      else view.camera.turn(0.8 * dx / side, 0.8 * dy / side);
    } else if (pointers.size === 2) {
      const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
      const [was, is] = [before, now].map((p) => Math.hypot(p[0] - other[0], p[1] - other[1]));
      const middle = inUnits((now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      view.camera.scale(is / (was || 1), ...middle);
      view.camera.move(dx / 2 / side, -dy / 2 / side);
    }
    pointers.set(event.pointerId, now);
    view.moved();
  });
  const released = (event) => {
    if (event.type === "pointerup" && pressed && travelled < 5 && event.button === 0) view.pick(view.scene.pick(...pressed, view.camera, view.state));
    pointers.delete(event.pointerId);
    pressed = null;
  };
  canvas.addEventListener("pointerup", released);
  canvas.addEventListener("pointercancel", released);
  canvas.addEventListener("pointerleave", () => view.tip(-1));
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1;
    view.camera.scale(Math.exp(-0.0015 * lines * event.deltaY), ...inUnits(...local(event)));
    view.moved();
  }, { passive: false });
}

function wireKeys(view) {
  const turn = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  document.addEventListener("keydown", (event) => {
    const focus = document.activeElement, inField = focus && (focus.tagName === "SELECT" || focus.tagName === "INPUT");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (inField && (event.key in turn || event.key === " " || event.key === "Enter" || event.key.length === 1 && focus.tagName === "SELECT")) return;
    if (focus && focus.tagName === "BUTTON" && (event.key === " " || event.key === "Enter")) return;
    if (event.key in turn) {
      const [x, y] = turn[event.key];
      if (event.shiftKey || view.camera.flat) view.camera.move(-0.08 * x, 0.08 * y); else view.camera.turn(0.12 * x, 0.12 * y);
      view.moved();
    } else if (event.key === "+" || event.key === "=") { view.camera.scale(1.2); view.moved(); }
    else if (event.key === "-") { view.camera.scale(1 / 1.2); view.moved(); }
    else if (event.key === ",") view.setScale(view.state.scale - 1);
    else if (event.key === ".") view.setScale(view.state.scale + 1);
    else if (event.key === " ") view.play();
    else if (event.key >= "1" && event.key <= "9") view.setColour(Number(event.key) - 1);
    else if (event.key === "Enter" && view.scene) view.pick(view.scene.pick(view.canvas.clientWidth / 2, view.canvas.clientHeight / 2, view.camera, view.state, 200));
    else if (event.key === "Escape") { view.pick(-1); view.setRange(0, header.most); }
    else if (event.key === "b" && view.hasBody) { view.node("body").checked = !view.node("body").checked; view.showBody(); }
    else if (event.key === "t") view.setTheme(theme === "dark" ? "light" : "dark");
    else if (event.key === "r") { view.camera.home(); view.moved(); }
    else if (event.key === "?") view.help();
    else return;
    event.preventDefault();
  });
}

function wirePanel(view) {
  const on = (id, kind, act) => view.node(id).addEventListener(kind, act);
  on("scale", "input", (event) => view.setScale(Number(event.target.value)));
  on("colour", "change", (event) => view.setColour(event.target.selectedIndex));
  on("play", "click", () => view.play());
  on("theme", "click", () => view.setTheme(theme === "dark" ? "light" : "dark"));
  on("reset", "click", () => { view.camera.home(); view.moved(); });
  on("help-button", "click", () => view.help());
  on("low", "input", (event) => view.setRange(Math.min(Number(event.target.value), view.state.high), view.state.high));
  on("high", "input", (event) => view.setRange(view.state.low, Math.max(Number(event.target.value), view.state.low)));
  on("body", "change", () => view.showBody());
  on("alpha", "input", () => { view.node("alpha-value").textContent = view.node("alpha").value; });
  on("alpha", "change", () => view.showBody());
  on("size", "input", (event) => { view.state.size = Number(event.target.value); view.redraw(); });
}
