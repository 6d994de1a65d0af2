// The arrays of the page: gzipped, in base64, described by the header.
const header = JSON.parse(document.getElementById("header").textContent);
const T = header.scales.length, N = header.dims;

async function unpack() {
  const node = document.getElementById("arrays");
  const text = atob(node.textContent);
  node.remove();
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

const KINDS = { f4: Float32Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };

class Data {
  constructor(buffer) {
    this.m = header.shown;
    this.arrays = {};
    for (const [name, kind, start, length] of header.arrays)
      this.arrays[name] = new KINDS[kind](buffer, start, length);
    this.points = this.arrays.points;
    this.rows = this.arrays.rows;
  }

  // One column of codes: a quantity at a scale, or a column of the file.
  codes(quantity, scale) {
    const all = this.arrays[quantity.array];
    const place = quantity.steps > 1 ? scale : 0;
    return all.subarray(place * this.m, (place + 1) * this.m);
  }

  // Codes run from 0 to top over the column's own range; top + 1 says that there is no value.
  range(quantity, scale) {
    const place = quantity.steps > 1 ? scale : 0;
    return [quantity.low[place], quantity.high[place]];
  }

  value(quantity, scale, i) {
    const code = this.codes(quantity, scale)[i], top = header.top;
    if (quantity.kind === "type") return code;
    if (code > top) return NaN;
    const [low, high] = this.range(quantity, scale);
    return low + (high - low) * code / top;
  }

  // Where a point lies in the file's own units.
  place(i) {
    return header.centre.map((c, k) => c + header.half * this.points[3 * i + k]);
  }
}
