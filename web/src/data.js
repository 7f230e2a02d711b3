// The data of the page: read from its JSON element once, with atoms and samples as typed arrays.

export const kFields = [
  "time_s", "frequency_hz", "duration_s", "chirp_rate_hz_per_s", "amplitude", "phase_rad", "peak", "energy",
  "energy_share", "energy_left_share",
];
export const kErrors = ["time_s", "frequency_hz", "duration_s", "chirp_rate_hz_per_s", "amplitude", "phase_rad"];
const kMissing = -32768;

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return bytes;
}

// Little-endian numbers of that many bytes each, whatever the machine.
function numbers(base64, Kind, get) {
  const bytes = bytesOf(base64);
  const view = new DataView(bytes.buffer);
  const out = new Kind(bytes.length / Kind.BYTES_PER_ELEMENT);
  for (let i = 0; i < out.length; ++i) out[i] = view[get](i * Kind.BYTES_PER_ELEMENT, true);
  return out;
}
const doubles = (text) => numbers(text, Float64Array, "getFloat64");
const floats = (text) => numbers(text, Float32Array, "getFloat32");

function scaled(text, scale, offset) {
  const whole = numbers(text, Int16Array, "getInt16");
  const out = new Float32Array(whole.length);
  for (let i = 0; i < out.length; ++i) out[i] = whole[i] === kMissing ? NaN : offset + scale * whole[i];
  return out;
}

function columnsOf(flat, names, count) {
  return Object.fromEntries(names.map((name, i) => [name, flat.subarray(i * count, (i + 1) * count)]));
}

// Gives {head, channels, segments, atoms, annotations}; atoms hold columns by name, their segment and their order.
export function decode(raw) {
  const flat = doubles(raw.atoms);
  const count = flat.length / kFields.length;
  const atoms = columnsOf(flat, kFields, count);
  atoms.count = count;
  atoms.errors = columnsOf(floats(raw.errors), kErrors, count);
  atoms.kept = new Uint8Array(count).fill(1);
  for (const i of raw.left_out) atoms.kept[i] = 0;
  atoms.segment = new Uint32Array(count);
  atoms.order = new Uint32Array(count);

  const channels = raw.head.channels.map((channel, index) => ({ ...channel, index, segments: [], signal: null }));
  const segments = [];
  let first = 0;
  for (let s = 0; s < raw.segments.channel.length; ++s) {
    const segment = { index: s, first };
    for (const [key, column] of Object.entries(raw.segments)) segment[key] = column[s];
    segment.rate_hz = channels[segment.channel].rate_hz;
    segment.end_s = segment.start_s + segment.samples / segment.rate_hz;
    for (let i = 0; i < segment.atoms; ++i) {
      atoms.segment[first + i] = s;
      atoms.order[first + i] = i + 1;
    }
    first += segment.atoms;
    segments.push(segment);
    channels[segment.channel].segments.push(segment);
  }
  for (const signal of raw.signals) {
    channels[signal.channel].signal = {
      ...signal,
      values: scaled(signal.values, signal.scale, signal.offset),
      residual: signal.residual ? scaled(signal.residual, signal.scale, 0) : null,
    };
  }
  nameEvents(segments, raw);
  for (const channel of channels) {
    channel.segments.sort((a, b) => a.start_s - b.start_s);
    channel.segments.forEach((segment, i) => (segment.number = i + 1));
    const starts = channel.segments.map((s) => s.start_s);
    const ends = channel.segments.map((s) => s.end_s);
    const signal = channel.signal;
    if (signal) starts.push(signal.start_s), ends.push(signal.start_s + signal.samples / signal.rate_hz);
    channel.start_s = starts.reduce((a, b) => Math.min(a, b), Infinity);
    channel.end_s = ends.reduce((a, b) => Math.max(a, b), -Infinity);
    if (!(channel.end_s > channel.start_s)) channel.start_s = 0, channel.end_s = 1;
    channel.most_atoms = channel.segments.reduce((most, s) => Math.max(most, s.atoms), 0);
  }
  return { head: raw.head, channels, segments, atoms, annotations: raw.annotations };
}

// Gives windows about events their event: {text, time_s} and, where the page holds it, the annotation itself.
function nameEvents(segments, raw) {
  const asked = raw.head.parameters.events;
  if (!asked) return;
  for (const segment of segments) {
    const time_s = segment.event ? segment.event_s : segment.start_s + asked.before_s;
    const near = raw.annotations.filter(([onset]) => Math.abs(onset - time_s) < 1.5 / segment.rate_hz);
    const annotation = near.find(([, , text]) => text === (segment.event || asked.text)) ?? near.find(([, , text]) => fits(text, asked.text));
    segment.event = { text: segment.event || (annotation?.[2] ?? asked.text), time_s: annotation?.[0] ?? time_s, annotation };
  }
}

// Whether a text fits a pattern of * and ?.
function fits(text, pattern) {
  const source = pattern.replace(/[\\^$.|+()[\]{}]/g, "\\$&").replaceAll("*", ".*").replaceAll("?", ".");
  return new RegExp(`^${source}$`, "su").test(text);
}

// The first and the end of the atoms of a segment.
export const atomsOf = (segment) => [segment.first, segment.first + segment.atoms];
