// Numbers as people read them: sensible digits, prefixes, errors. The same rules as the command's tables.

const kPrefixes = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"], [1e-12, "p"]];
const kPrefixable = ["Hz", "s", "Hz/s", "V", "A", "T", "Pa"];
const kMinus = "\u2212";

const signed = (text) => text.replace(/^-/, kMinus).replace(/e-/, `e${kMinus}`);

export const shownUnit = (unit) => (/^u[VAs]/.test(unit) ? "µ" + unit.slice(1) : unit);

function prefixFor(magnitude, unit) {
  const none = [1, ""];
  if (!kPrefixable.includes(unit) || !(magnitude > 0) || !Number.isFinite(magnitude)) return none;
  if (magnitude < 1 && unit.startsWith("Hz")) return none;
  return kPrefixes.find(([factor]) => magnitude >= factor * 0.9995) ?? none;
}

// So many significant digits, without an exponent where that stays short.
export function rounded(value, digits) {
  if (!Number.isFinite(value)) return "–";
  const scientific = value.toExponential(digits - 1);
  const top = parseInt(scientific.split("e")[1], 10);
  if (value !== 0 && (top < -5 || top > 8)) return signed(scientific);
  return signed(value.toFixed(Math.min(Math.max(digits - 1 - top, 0), 12)));
}

const withUnit = (text, unit) => (unit ? `${text}\u00a0${unit}` : text);

export function quantity(value, unit, digits = 4) {
  if (!Number.isFinite(value)) return "–";
  const [factor, sign] = prefixFor(Math.abs(value), unit);
  return withUnit(rounded(value / factor, digits), sign + shownUnit(unit));
}

// As a person would give it: up to six digits, no zeros at the end.
export function plain(value, unit = "") {
  if (!Number.isFinite(value)) return "–";
  const [factor, sign] = prefixFor(Math.abs(value), unit);
  return withUnit(signed(String(Number((value / factor).toPrecision(6)))), sign + shownUnit(unit));
}

export const percent = (share, digits = 3) => (Number.isFinite(share) ? `${rounded(100 * share, digits)}\u00a0%` : "–");

// Seconds with the decimals that tell samples apart.
export function timeText(time_s, rate_hz) {
  const decimals = Math.min(Math.max(Math.ceil(Math.log10(Math.max(rate_hz, 1))), 2), 9);
  return signed(time_s.toFixed(decimals));
}

// The prefix that suits a whole column of numbers: its largest has 1 to 1000 before the point.
export function columnUnit(values, unit) {
  let largest = 0;
  for (const value of values) if (Number.isFinite(value)) largest = Math.max(largest, Math.abs(value));
  const [factor, sign] = prefixFor(largest, unit);
  return { factor, unit: sign + shownUnit(unit) };
}

// Digits of an exponent, raised.
export const raised = (exponent) => [...String(exponent)].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("");

// The power of a thousand to take out of an axis whose numbers would be too long; else 0.
export function axisPower(low, high) {
  const largest = Math.max(Math.abs(low), Math.abs(high));
  if (!(largest > 0) || !Number.isFinite(largest) || (largest >= 0.01 && largest < 1e5)) return 0;
  return 3 * Math.floor(Math.log10(largest) / 3 + 1e-9);
}

// Whole numbers in groups of three digits.
export const grouped = (count) => count.toLocaleString("en").replaceAll(",", "\u202f");

export const plural = (count, one, many = `${one}s`) => `${grouped(count)} ${count === 1 ? one : many}`;

// A stretch of time in words: "15 s", "5 min", "1 h 12 min".
export function spanText(seconds) {
  if (seconds < 120) return secondsText(Number(seconds.toPrecision(4)));
  const minutes = Math.floor(seconds / 60 + 1e-9);
  const rest = Math.round(seconds - 60 * minutes);
  if (minutes < 60) return `${minutes} min${rest ? ` ${rest} s` : ""}`;
  return `${Math.floor(minutes / 60)} h${minutes % 60 ? ` ${minutes % 60} min` : ""}`;
}

// A time for people: "3600 s", "12.5 s", "40 ms".
export const secondsText = (seconds) => (Math.abs(seconds) >= 1 ? withUnit(plain(seconds), "s") : plain(seconds, "s"));

// Two times with the digits that tell them apart: "0 s to 15 s", "1126259462.1 s to 1126259462.31 s".
export function fromToText(from_s, to_s) {
  const span = to_s - from_s;
  const enough = Math.max(Math.abs(from_s), Math.abs(to_s)) < 1000 * span;
  const decimals = Math.min(Math.max(Math.ceil(2 - Math.log10(span)), 0), 9);
  const text = (time) => (enough ? secondsText(time) : withUnit(signed(String(Number(time.toFixed(decimals)))), "s"));
  return `${text(from_s)} to ${text(to_s)}`;
}
