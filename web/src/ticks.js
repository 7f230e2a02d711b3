// Where the ticks of an axis lie, and their texts.

// Ticks with as many decimals as their distance needs.
export function tickTexts(splits, factor = 1, origin = 0) {
  const scaled = splits.map((v) => (v - origin) / factor);
  const step = scaled.length > 1 ? Math.abs(scaled[1] - scaled[0]) : 1;
  const decimals = Math.min(Math.max(Math.ceil(-Math.log10(step) - 1e-5), 0), 9);
  const fine = decimals > 0 || Math.abs(step - Math.round(step)) < 1e-5 ? decimals : 1;
  return scaled.map((v) => (v === 0 ? 0 : v).toFixed(Math.max(fine, digitsOf(step, fine))).replace("-", "\u2212"));
}

// Round values for an axis that high, in pixels: some 32 pixels apart, but at least two of them. uPlot's own know no steps
// below 1e-17.
export function valueTicks(low, high, height) {
  const least = (high - low) * Math.min(32 / height, 0.24); // steps come out at most twice as large: below half of all
  if (!(least > 0) || !Number.isFinite(least)) return [low];
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= least * (1 - 1e-9)) * power;
  const out = [];
  for (let k = Math.ceil(low / step - 1e-9); k <= high / step + 1e-9; ++k) out.push(k * step);
  return out;
}

const digitsOf = (step, least) => {
  for (let d = least; d < least + 2; ++d) if (Math.abs(step * 10 ** d - Math.round(step * 10 ** d)) < 1e-4) return d;
  return least + 2;
};
