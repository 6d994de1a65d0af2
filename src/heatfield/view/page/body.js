// The heat body {u >= alpha max u(x_i)} of the points of the page: heat is spread on a grid by three passes of
// a Gaussian, one per axis, and the surface is drawn through the cells where u crosses the level.
const MOST_CELLS = 112;  // along the longest side

function heatBody(t, alpha) {
  const flat = header.dims === 2, axes = flat ? 2 : 3;
  const sigma = Math.sqrt(2 * t) / header.half;  // one unit is half the extent
  const reach = sigma * Math.sqrt(2 * (Math.log(1 / alpha) + 2));
  const low = [Infinity, Infinity, 0], high = [-Infinity, -Infinity, 0];
  for (let k = 0; k < axes; k++) {
    low[k] = Infinity; high[k] = -Infinity;
    for (let i = k; i < data.points.length; i += 3) { low[k] = Math.min(low[k], data.points[i]); high[k] = Math.max(high[k], data.points[i]); }
  }
  const longest = Math.max(...low.slice(0, axes).map((v, k) => high[k] - v + 2 * reach));
  const cell = Math.max(longest / (flat ? 4 * MOST_CELLS : MOST_CELLS), sigma / 4);
  if (cell > 1.2 * sigma) return { problem: "At this scale the body is a small ball around each point, too fine to draw. Choose a coarser scale." };
  const start = low.map((v, k) => (k < axes ? v - reach - cell : 0));
  const size = low.map((v, k) => (k < axes ? Math.ceil((high[k] - v + 2 * reach) / cell) + 3 : 1));
  // Sharing a point among its nodes widens it by a variance between 0 and cell**2/4, on average cell**2/6.
  const narrowed = Math.sqrt(Math.max(sigma * sigma - cell * cell / 6, 0.01 * cell * cell));
  let field = shared(start, size, cell, axes);
  for (let k = 0; k < axes; k++) field = blurred(field, size, k, narrowed / cell);
  let peak = 0;
  for (let i = 0; i < data.m; i++) peak = Math.max(peak, read(field, start, size, cell, axes, 3 * i));
  const level = alpha * peak;
  const surface = flat ? fill(field, size, start, cell, level) : nets(field, size, start, cell, level);
  return { ...surface, measure: surface.measure * header.half ** axes, cells: size.slice(0, axes) };
}

// The corners of the cell that holds a point, with the point's share in each.
function corners(start, size, cell, axes, at, visit) {
  const x = (data.points[at] - start[0]) / cell, y = (data.points[at + 1] - start[1]) / cell, z = axes > 2 ? (data.points[at + 2] - start[2]) / cell : 0;
  const i = Math.floor(x), j = Math.floor(y), k = Math.floor(z), a = x - i, b = y - j, c = z - k;
  for (let n = 0; n < 1 << axes; n++) {
    const p = n & 1, q = (n >> 1) & 1, r = n >> 2;
    visit(i + p + size[0] * (j + q + size[1] * (k + r)), (p ? a : 1 - a) * (q ? b : 1 - b) * (r ? c : 1 - c));
  }
}
function shared(start, size, cell, axes) {
  const out = new Float32Array(size[0] * size[1] * size[2]);
  for (let i = 0; i < data.m; i++) corners(start, size, cell, axes, 3 * i, (node, share) => { out[node] += share; });
  return out;
}
function read(field, start, size, cell, axes, at) {
  let sum = 0;
  corners(start, size, cell, axes, at, (node, share) => { sum += share * field[node]; });
  return sum;
}
function blurred(field, size, axis, width) {
  const radius = Math.ceil(4.5 * width), weights = Float32Array.from({ length: radius + 1 }, (_, k) => Math.exp(-k * k / (2 * width * width)));
  const out = new Float32Array(field.length), n = size[axis], stride = axis === 0 ? 1 : axis === 1 ? size[0] : size[0] * size[1];
  const block = stride * n;
  for (let base = 0; base < field.length; base += block)
    for (let i = 0; i < n; i++) {
      const first = Math.max(0, i - radius), last = Math.min(n - 1, i + radius), row = base + i * stride;
      for (let j = first; j <= last; j++) {
        const w = weights[Math.abs(i - j)], from = base + j * stride;
        for (let s = 0; s < stride; s++) out[row + s] += w * field[from + s];
      }
    }
  return out;
}

// One vertex in every cell that the surface crosses, one square for every edge that crosses it ("surface nets").
function nets(field, size, start, cell, level) {
  const [nx, ny, nz] = size, index = new Int32Array(field.length).fill(-1), vertices = [], faces = [];
  const step = [1, nx, nx * ny];
  for (let k = 0; k < nz - 1; k++) for (let j = 0; j < ny - 1; j++) for (let i = 0; i < nx - 1; i++) {
    const at = i + nx * (j + ny * k);
    let mask = 0;
    for (let n = 0; n < 8; n++) if (field[at + (n & 1) + nx * ((n >> 1) & 1) + nx * ny * (n >> 2)] >= level) mask |= 1 << n;
    if (mask === 0 || mask === 255) continue;
    const sum = [0, 0, 0];
    let crossings = 0;
    for (let n = 0; n < 8; n++) for (let axis = 0; axis < 3; axis++) {
      if ((n >> axis) & 1) continue;
      const other = n | (1 << axis);
      if (((mask >> n) & 1) === ((mask >> other) & 1)) continue;
      const u = field[at + (n & 1) + nx * ((n >> 1) & 1) + nx * ny * (n >> 2)], v = field[at + (other & 1) + nx * ((other >> 1) & 1) + nx * ny * (other >> 2)];
      const place = [n & 1, (n >> 1) & 1, n >> 2];
      place[axis] += (level - u) / (v - u);
      for (let c = 0; c < 3; c++) sum[c] += place[c];
      crossings++;
    }
    index[at] = vertices.length / 3;
    vertices.push(start[0] + cell * (i + sum[0] / crossings), start[1] + cell * (j + sum[1] / crossings), start[2] + cell * (k + sum[2] / crossings));
  }
  for (let k = 1; k < nz - 1; k++) for (let j = 1; j < ny - 1; j++) for (let i = 1; i < nx - 1; i++) {
    const at = i + nx * (j + ny * k), inside = field[at] >= level;
    for (let axis = 0; axis < 3; axis++) {
      if (inside === (field[at + step[axis]] >= level)) continue;
      const u = step[(axis + 1) % 3], v = step[(axis + 2) % 3];
      const [a, b, c, d] = [index[at], index[at - u], index[at - u - v], index[at - v]];
      faces.push(...(inside ? [a, b, c, a, c, d] : [a, c, b, a, d, c]));
    }
  }
  return finished(vertices, faces);
}

// In the plane: the part of every cell above the level, by cutting its two triangles.
function fill(field, size, start, cell, level) {
  const [nx, ny] = size, vertices = [], faces = [];
  for (let j = 0; j < ny - 1; j++) for (let i = 0; i < nx - 1; i++) {
    const square = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
    for (const triangle of [[0, 1, 2], [0, 2, 3]]) {
      const kept = [];
      for (let n = 0; n < 3; n++) {
        const p = square[triangle[n]], q = square[triangle[(n + 1) % 3]], u = field[p[0] + nx * p[1]] - level, v = field[q[0] + nx * q[1]] - level;
        if (u >= 0) kept.push(p);
        if ((u >= 0) !== (v >= 0)) { const s = u / (u - v); kept.push([p[0] + s * (q[0] - p[0]), p[1] + s * (q[1] - p[1])]); }
      }
      const first = vertices.length / 3;
      for (const [x, y] of kept) vertices.push(start[0] + cell * x, start[1] + cell * y, 0);
      for (let n = 2; n < kept.length; n++) faces.push(first, first + n - 1, first + n);
    }
  }
  return finished(vertices, faces, true);
}

// Normals, and the volume inside (in the plane the area).
function finished(list, order, flat = false) {
  const vertices = Float32Array.from(list), faces = Uint32Array.from(order), normals = new Float32Array(vertices.length);
  let measure = 0;
  for (let f = 0; f < faces.length; f += 3) {
    const [a, b, c] = [0, 1, 2].map((n) => vertices.subarray(3 * faces[f + n], 3 * faces[f + n] + 3));
    const u = [0, 1, 2].map((n) => b[n] - a[n]), v = [0, 1, 2].map((n) => c[n] - a[n]);
    const cross = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    measure += flat ? cross[2] / 2 : (a[0] * cross[0] + a[1] * cross[1] + a[2] * cross[2]) / 6;
    for (let n = 0; n < 3; n++) for (let k = 0; k < 3; k++) normals[3 * faces[f + n] + k] += cross[k];
  }
  return { vertices, faces, normals, measure: Math.abs(measure) };
}
