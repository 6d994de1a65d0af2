// Colours and what they mean, in words.
const RAMPS = {
  light: {
    dimension: ["#6b6b6b", "#e06a0a", "#1b9e77", "#3b52a8"],
    density: ["#fdd49e", "#fc8d59", "#d7301f", "#7f0000"],
    transition: ["#2166ac", "#92c5de", "#c9c9c9", "#f4a582", "#b2182b"],
    spectrum: ["#762a83", "#c4b3cc", "#1b9e77", "#e8a317"],
    column: ["#440154", "#3b528b", "#21908d", "#5dc963", "#d8c514"],
    type: ["#8a8a8a", "#e06a0a", "#1b9e77", "#3b52a8", "#d4147a", "#d0d0d0"],
    ghost: [0.86, 0.86, 0.86], back: [1, 1, 1], body: [0.42, 0.5, 0.72], pick: "#d4147a",
  },
  dark: {
    dimension: ["#a0a0a0", "#ff9038", "#35c99a", "#7d9bff"],
    density: ["#4b3a8c", "#a5378f", "#ec5f6a", "#fea873", "#fcfdbf"],
    transition: ["#5ab0ff", "#4a7ba6", "#6a6a6a", "#b3705c", "#ff7a52"],
    spectrum: ["#b57ac4", "#77707c", "#35c99a", "#ffd25c"],
    column: ["#5b4bd0", "#3f8fd0", "#2fc0a0", "#8fdc5a", "#fde725"],
    type: ["#a8a8a8", "#ff9038", "#35c99a", "#7d9bff", "#ff62b3", "#4a4a4a"],
    ghost: [0.2, 0.21, 0.23], back: [0.063, 0.07, 0.086], body: [0.6, 0.68, 0.95], pick: "#ff62b3",
  },
};
const DIMENSION_WORDS = ["an isolated point", "filament", "surface", "volume"];
const TYPE_NAMES = header.types;
const TYPE_WORDS = {
  point: "on its own at this scale", filament: "a thread: one direction", surface: "a sheet: two directions",
  volume: "filled: three directions", junction: "filaments meet here", undefined: "cannot be told",
};
let theme = "light";
const ramps = () => RAMPS[theme];

const parse = (hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
function mix(stops, x) {
  const at = Math.min(Math.max(x, 0), 1) * (stops.length - 1), k = Math.min(Math.floor(at), stops.length - 2);
  const a = parse(stops[k]), b = parse(stops[k + 1]);
  return a.map((v, c) => Math.round(v + (at - k) * (b[c] - v)));
}
const css = (rgb) => `rgb(${rgb.join(",")})`;

// 256 colours of a ramp; of the types, one colour each.
function table(quantity) {
  const out = new Uint8Array(256 * 4);
  const stops = stopsOf(quantity);
  for (let k = 0; k < 256; k++) {
    const rgb = quantity.kind === "type" ? parse(stops[Math.min(k, stops.length - 1)]) : mix(stops, k / 255);
    out.set([...rgb, 255], 4 * k);
  }
  return out;
}
function stopsOf(quantity) {
  const all = ramps()[quantity.kind];
  return quantity.kind === "dimension" ? all.slice(0, Math.min(N, 3) + 1) : all;
}
function colourOf(quantity, scale, value) {
  if (!Number.isFinite(value)) return css(ramps().ghost.map((v) => 255 * v));
  if (quantity.kind === "type") return stopsOf(quantity)[value];
  const [low, high] = colourRange(quantity, scale);
  return css(mix(stopsOf(quantity), (value - low) / (high - low || 1)));
}
function colourRange(quantity, scale) {
  const place = quantity.steps > 1 ? scale : 0;
  return [quantity.first[place], quantity.last[place]];
}

const short = (x) => !Number.isFinite(x) ? "–" : x === 0 ? "0" : Math.abs(x) >= 1e5 || Math.abs(x) < 1e-3 ? x.toExponential(1) : String(Number(x.toPrecision(3)));
// The length of a scale with its unit, and a scale by index and length.
const lengthWords = (a) => `${short(Math.sqrt(header.scales[a]))}${header.unit ? ` ${header.unit}` : ""}`;
const scaleWords = (a) => `scale s${a}, √t = ${lengthWords(a)}`;
const count = (x) => x.toLocaleString("en");
function dimensionWords(d) {
  if (!Number.isFinite(d)) return "cannot be told";
  if (d < 0.5) return "near 0: " + DIMENSION_WORDS[0];
  const k = Math.min(Math.round(d), N), name = DIMENSION_WORDS[Math.min(k, 3)];
  const halfway = Math.abs(d - k) > 0.3 && k < N + (d < k ? 1 : 0);
  if (!halfway || k > 3) return `about ${k}: ${name}`;
  const other = d > k ? k + 1 : k - 1;
  return `between ${Math.min(k, other)} and ${Math.max(k, other)}: ${DIMENSION_WORDS[Math.min(k, other)]} to ${DIMENSION_WORDS[Math.min(Math.max(k, other), 3)]}`;
}

// Entries of the legend: colour, number, meaning; from the high end to the low one.
function legendOf(quantity, scale) {
  const [low, high] = colourRange(quantity, scale), middle = (low + high) / 2;
  const entry = (value, words) => ({ colour: colourOf(quantity, scale, value), value: short(value), words });
  switch (quantity.kind) {
    case "type":
      return TYPE_NAMES.map((name, k) => ({ colour: stopsOf(quantity)[k], value: "", words: `${name}: ${TYPE_WORDS[name]}`, k }))
        .filter((e) => data.codes(quantity, scale).indexOf(e.k) >= 0);
    case "dimension":
      return Array.from({ length: Math.min(N, 3) + 1 }, (_, k) => ({ ...entry(k, `about ${k}: ${DIMENSION_WORDS[k]}`), value: "" })).reverse();
    case "density":
      return [[high, "crowded"], [middle, ""], [low, "sparse"]].map(([v, words]) => ({ colour: colourOf(quantity, scale, v), value: short(10 ** v), words }));
    case "transition":
      return [entry(high, "dimension grows as one looks more coarsely"), entry(0, "settled: one clear dimension"), entry(low, "dimension falls: thick things become thin, blobs become points")];
    case "spectrum":
      return [entry(high, "parts pull away to both sides"), entry(0, "the data go on in this direction"), entry(-0.5, "they end, or share it with others"), entry(-1, "nothing in this direction: across the data")];
    default:
      return [entry(high, ""), entry(middle, ""), entry(low, "")];
  }
}
