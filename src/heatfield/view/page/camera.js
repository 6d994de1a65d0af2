// Where one looks from: a rotation, a shift and a distance. A plane is only moved and zoomed.
class Camera {
  constructor(canvas) { this.flat = header.dims < 3; this.canvas = canvas; this.home(); }

  // The first view: a little from the side and above, as close as the whole cloud allows.
  home() {
    this.rotation = header.axes.flat();
    this.shift = [0, 0];
    this.zoom = 1;
    if (!this.flat) this.turn(-0.35, 0.22);
    const m = this.matrix(this.canvas.clientWidth || 1, this.canvas.clientHeight || 1), p = data.points;
    const low = [Infinity, Infinity], high = [-Infinity, -Infinity];
    for (let i = 0; i < p.length; i += 3) {
      const w = m[3] * p[i] + m[7] * p[i + 1] + m[11] * p[i + 2] + m[15];
      for (let k = 0; k < 2; k++) {
        const v = (m[k] * p[i] + m[4 + k] * p[i + 1] + m[8 + k] * p[i + 2]) / w;
        if (v < low[k]) low[k] = v;
        if (v > high[k]) high[k] = v;
      }
    }
    const factor = Math.min(1.84 / (high[0] - low[0] || 1e-3), 1.84 / (high[1] - low[1] || 1e-3), 4);
    this.zoom = factor;
    const side = Math.min(this.canvas.clientWidth, this.canvas.clientHeight) || 1;
    this.shift = [this.canvas.clientWidth, this.canvas.clientHeight].map((length, k) => -0.5 * (low[k] + high[k]) * factor * length / side);
  }

  // Angles around the screen's vertical and horizontal axes.
  turn(across, down) {
    if (this.flat) return;
    const [c, s, e, f] = [Math.cos(across), Math.sin(across), Math.cos(down), Math.sin(down)];
    this.rotation = orthonormal(product([1, 0, 0, 0, e, -f, 0, f, e], product([c, 0, s, 0, 1, 0, -s, 0, c], this.rotation)));
  }

  // In units of half the smaller side of the canvas.
  move(x, y) { this.shift[0] += x; this.shift[1] += y; }

  // Keeps the place (x, y) under the pointer where it is.
  scale(factor, x = 0, y = 0) {
    const before = this.zoom;
    this.zoom = Math.min(Math.max(before * factor, 0.2), 400);
    const change = this.zoom / before;
    this.shift = [x + (this.shift[0] - x) * change, y + (this.shift[1] - y) * change];
  }

  // From points to clip coordinates, column by column. Perspective is mild: depth is seen, sizes compare.
  matrix(width, height) {
    const side = Math.min(width, height), r = this.rotation, fit = (this.flat ? 0.9 : 0.95) * this.zoom / header.radius;
    const depth = this.flat ? 0 : 0.22 / header.radius;
    const fx = fit * side / width, fy = fit * side / height;
    const sx = this.shift[0] * side / width, sy = this.shift[1] * side / height;
    const out = new Float32Array(16);
    for (let k = 0; k < 3; k++) {
      const w = -depth * r[6 + k];
      out[4 * k] = fx * r[k] + sx * w;
      out[4 * k + 1] = fy * r[3 + k] + sy * w;
      out[4 * k + 2] = -0.45 * r[6 + k] / header.radius;
      out[4 * k + 3] = w;
    }
    out.set([sx, sy, 0, 1], 12);
    return out;
  }
}

const product = (a, b) => Array.from({ length: 9 }, (_, i) => {
  const r = 3 * Math.floor(i / 3), c = i % 3;
  return a[r] * b[c] + a[r + 1] * b[3 + c] + a[r + 2] * b[6 + c];
});
function orthonormal(m) {
  const x = unit(m.slice(0, 3));
  const y = m.slice(3, 6), along = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
  const up = unit(y.map((v, k) => v - along * x[k]));
  return [...x, ...up, x[1] * up[2] - x[2] * up[1], x[2] * up[0] - x[0] * up[2], x[0] * up[1] - x[1] * up[0]];
}
const unit = (v) => { const s = Math.hypot(...v) || 1; return v.map((x) => x / s); };
