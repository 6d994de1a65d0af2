// Drawing. The order of the points is random, so the first k of them are a fair sample: while the
// view moves only as many are drawn as the machine manages, and all of them when it rests.
const POINT_VERTEX = `#version 300 es
layout(location=0) in vec3 place; layout(location=1) in float code; layout(location=2) in float dim;
uniform mat4 matrix; uniform vec4 scaling; uniform vec3 range; uniform vec2 size; uniform vec3 ghost, back;
uniform sampler2D ramp; uniform bool words;
out vec3 colour;
void main() {
  gl_Position = matrix * vec4(place, 1.0);
  float d = dim * range.z;
  bool inside = d >= range.x && d <= range.y;
  float x = words ? (code * 255.0 + 0.5) / 256.0 : (scaling.x + code * scaling.y - scaling.z) * scaling.w;
  colour = code > 0.999995 && !words ? ghost : texture(ramp, vec2(clamp(x, 0.002, 0.998), 0.5)).rgb;
  float far = clamp(0.5 + 0.9 * gl_Position.z / gl_Position.w, 0.0, 1.0);
  colour = mix(colour, back, 0.45 * far);
  gl_PointSize = clamp(size.x / gl_Position.w, size.y, 48.0);
  if (!inside) { colour = ghost; gl_PointSize = max(1.0, 0.5 * gl_PointSize); gl_Position.z += 0.3 * gl_Position.w; }
}`;
const POINT_FRAGMENT = `#version 300 es
precision mediump float; in vec3 colour; uniform bool disc; out vec4 shade;
void main() {
  vec2 p = 2.0 * gl_PointCoord - 1.0; float r = dot(p, p);
  if (disc && r > 1.0) discard;
  shade = vec4(disc ? colour * (1.06 - 0.3 * r) : colour, 1.0);
}`;
const MESH_VERTEX = `#version 300 es
layout(location=0) in vec3 place; layout(location=1) in vec3 normal; uniform mat4 matrix; uniform mat3 turn; out vec3 n;
void main() { gl_Position = matrix * vec4(place, 1.0); n = turn * normal; }`;
const MESH_FRAGMENT = `#version 300 es
precision mediump float; in vec3 n; uniform vec3 colour; uniform bool flat_; out vec4 shade;
void main() {
  float facing = flat_ ? 1.0 : abs(normalize(n).z);
  shade = vec4(colour * (0.55 + 0.55 * facing), flat_ ? 0.35 : mix(0.75, 0.28, facing));
}`;

class Scene {
  constructor(canvas) {
    this.canvas = canvas;
    const gl = this.gl = canvas.getContext("webgl2", { antialias: false, alpha: false });
    if (!gl) throw new Error("this browser has no WebGL 2, so the cloud cannot be drawn; the charts still work");
    this.points = program(gl, POINT_VERTEX, POINT_FRAGMENT);
    this.mesh = program(gl, MESH_VERTEX, MESH_FRAGMENT);
    this.buffers = [0, 1, 2].map(() => gl.createBuffer());
    this.array = gl.createVertexArray();
    gl.bindVertexArray(this.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[0]);
    gl.bufferData(gl.ARRAY_BUFFER, data.points, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
    this.ramp = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.ramp);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, name, gl.NEAREST);
    this.surface = null;
    this.moving = data.m;  // how many points are drawn while the view moves
  }

  // Attribute 1 is what is coloured, attribute 2 the dimension at this scale.
  load(slot, codes) {
    const gl = this.gl;
    gl.bindVertexArray(this.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[slot]);
    gl.bufferData(gl.ARRAY_BUFFER, codes, gl.DYNAMIC_DRAW);
    gl.enableVertexAttribArray(slot);
    gl.vertexAttribPointer(slot, 1, codes.BYTES_PER_ELEMENT === 1 ? gl.UNSIGNED_BYTE : gl.UNSIGNED_SHORT, true, 0, 0);
  }

  paint(quantity, scale) {
    const gl = this.gl;
    this.load(1, data.codes(quantity, scale));
    this.load(2, data.codes(header.quantities.dimension, scale));
    gl.bindTexture(gl.TEXTURE_2D, this.ramp);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, table(quantity));
  }

  setSurface(surface) {
    const gl = this.gl;
    if (this.surface) { this.surface.buffers.forEach((b) => gl.deleteBuffer(b)); gl.deleteVertexArray(this.surface.array); }
    this.surface = null;
    if (!surface || !surface.faces.length) return;
    const array = gl.createVertexArray(), buffers = [0, 1, 2].map(() => gl.createBuffer());
    gl.bindVertexArray(array);
    [surface.vertices, surface.normals].forEach((values, slot) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffers[slot]);
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(slot);
      gl.vertexAttribPointer(slot, 3, gl.FLOAT, false, 0, 0);
    });
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffers[2]);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, surface.faces, gl.STATIC_DRAW);
    this.surface = { array, buffers, count: surface.faces.length };
  }

  resize() {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const [w, h] = [this.canvas.clientWidth, this.canvas.clientHeight].map((v) => Math.max(1, Math.round(ratio * v)));
    if (this.canvas.width !== w || this.canvas.height !== h) { this.canvas.width = w; this.canvas.height = h; }
    return ratio;
  }

  draw(state, camera, inMotion) {
    const gl = this.gl, ratio = this.resize(), { width, height } = this.canvas;
    const quantity = state.quantity, words = quantity.kind === "type";
    const [low, high] = data.range(quantity, state.scale), [first, last] = colourRange(quantity, state.scale);
    const [dimLow, dimHigh] = data.range(header.quantities.dimension, state.scale);
    const colours = ramps(), matrix = camera.matrix(width, height);
    const unitsTop = header.top / (header.top + 1);  // a code read as a share of the largest one
    gl.viewport(0, 0, width, height);
    gl.clearColor(...colours.back, 1);
    gl.enable(gl.DEPTH_TEST);
    gl.disable(gl.BLEND);
    gl.depthMask(true);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    const { handle, at } = this.points;
    gl.useProgram(handle);
    gl.uniformMatrix4fv(at.matrix, false, matrix);
    gl.uniform4f(at.scaling, low, (high - low) / unitsTop, first, 1 / (last - first || 1));
    const span = dimHigh - dimLow || 1e-9;
    gl.uniform3f(at.range, (state.low - dimLow) / span - 1e-5, state.high >= header.most ? 2 : (state.high - dimLow) / span + 1e-5, 1 / unitsTop);
    const pixels = 0.95 * camera.zoom * Math.min(width, height) / 2 / header.radius;
    gl.uniform2f(at.size, Math.min(1.3 * header.spacing * pixels, header.largest * ratio * Math.max(1, 0.35 * camera.zoom)) * state.size, header.least * ratio * state.size);
    gl.uniform3fv(at.ghost, colours.ghost);
    gl.uniform3fv(at.back, colours.back);
    gl.uniform1i(at.words, words);
    gl.uniform1i(at.disc, !inMotion || data.m < 50000);
    gl.bindTexture(gl.TEXTURE_2D, this.ramp);
    gl.bindVertexArray(this.array);
    this.drawn = inMotion ? Math.min(this.moving, data.m) : data.m;
    gl.drawArrays(gl.POINTS, 0, this.drawn);
    if (this.surface) this.drawSurface(matrix, camera, colours);
  }

  drawSurface(matrix, camera, colours) {
    const gl = this.gl, { handle, at } = this.mesh, r = camera.rotation;
    gl.useProgram(handle);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthMask(false);
    gl.uniformMatrix4fv(at.matrix, false, matrix);
    gl.uniformMatrix3fv(at.turn, false, new Float32Array([r[0], r[3], r[6], r[1], r[4], r[7], r[2], r[5], r[8]]));
    gl.uniform3fv(at.colour, colours.body);
    gl.uniform1i(at.flat_, camera.flat);
    gl.bindVertexArray(this.surface.array);
    gl.drawElements(gl.TRIANGLES, this.surface.count, gl.UNSIGNED_INT, 0);
  }

  // The point nearest to the eye among those within reach of a place on the canvas, in CSS pixels; -1 if none.
  pick(x, y, camera, state, reach = 9) {
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight, m = camera.matrix(width, height), p = data.points;
    const dims = data.codes(header.quantities.dimension, state.scale), [low, high] = data.range(header.quantities.dimension, state.scale);
    const isolated = state.low > 0 || state.high < header.most;
    let best = -1, least = Infinity;
    for (let i = 0; i < data.m; i++) {
      const a = p[3 * i], b = p[3 * i + 1], c = p[3 * i + 2], w = m[3] * a + m[7] * b + m[11] * c + m[15];
      const dx = (0.5 + 0.5 * (m[0] * a + m[4] * b + m[8] * c + m[12]) / w) * width - x;
      if (dx > reach || dx < -reach) continue;
      const dy = (0.5 - 0.5 * (m[1] * a + m[5] * b + m[9] * c + m[13]) / w) * height - y;
      const gap = dx * dx + dy * dy;
      if (gap > reach * reach) continue;
      if (isolated) { const d = low + (high - low) * dims[i] / header.top; if (d < state.low || (d > state.high && state.high < header.most)) continue; }
      const score = gap / (reach * reach) + 1.5 * (m[2] * a + m[6] * b + m[10] * c) / w;
      if (score < least) { least = score; best = i; }
    }
    return best;
  }

  // Where a point is on the canvas, in CSS pixels.
  locate(i, camera) {
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight, m = camera.matrix(width, height);
    const [a, b, c] = data.points.subarray(3 * i, 3 * i + 3), w = m[3] * a + m[7] * b + m[11] * c + m[15];
    return [(0.5 + 0.5 * (m[0] * a + m[4] * b + m[8] * c + m[12]) / w) * width, (0.5 - 0.5 * (m[1] * a + m[5] * b + m[9] * c + m[13]) / w) * height];
  }
}

function program(gl, vertex, fragment) {
  const handle = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(handle, shader);
  }
  gl.linkProgram(handle);
  if (!gl.getProgramParameter(handle, gl.LINK_STATUS)) throw new Error("the graphics driver refused a shader: " + gl.getProgramInfoLog(handle));
  const at = {};
  for (let k = 0; k < gl.getProgramParameter(handle, gl.ACTIVE_UNIFORMS); k++) {
    const { name } = gl.getActiveUniform(handle, k);
    at[name] = gl.getUniformLocation(handle, name);
  }
  return { handle, at };
}
