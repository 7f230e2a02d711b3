// The signal with its reconstruction over it, and the residual below at the same scale.
import { kSupport, model } from "./chirplets.js";
import { plain, plural, quantity, shownUnit } from "./format.js";
import { TimePlot } from "./plot.js";
import { theme } from "./theme.js";

const kMostWork = 6e6; // samples of atoms summed for one drawing; a third of a second
const kResidualShare = 0.55; // height of the residual's plot, of the signal's

// For n samples at start + i / rate: each one, or where that is more than four a pixel, the least and the largest of
// every so many, one after the other.
export function thinned(start_s, rate_hz, traces, pixels) {
  const n = traces[0].length;
  const per = Math.ceil(n / (2 * pixels));
  if (per <= 2) return [Float64Array.from({ length: n }, (_, i) => start_s + i / rate_hz), ...traces];
  const bins = Math.ceil(n / per);
  const times = new Float64Array(2 * bins);
  const out = traces.map(() => new Float64Array(2 * bins));
  for (let b = 0; b < bins; ++b) {
    const from = b * per;
    const to = Math.min(from + per, n);
    times[2 * b] = start_s + (from + per / 4) / rate_hz;
    times[2 * b + 1] = start_s + (from + (3 * per) / 4) / rate_hz;
    traces.forEach((trace, k) => {
      let low = NaN;
      let high = NaN;
      for (let i = from; i < to; ++i) {
        if (!(trace[i] >= low)) low = Number.isNaN(trace[i]) ? low : trace[i];
        if (!(trace[i] <= high)) high = Number.isNaN(trace[i]) ? high : trace[i];
      }
      out[k][2 * b] = low;
      out[k][2 * b + 1] = high;
    });
  }
  return [times, ...out];
}

const nulls = (values) => Array.from(values, (v) => (Number.isNaN(v) ? null : v));

export class SignalPanel {
  constructor(store) {
    this.store = store;
    const height = (width) => Math.round(Math.min(Math.max(width * 0.22, 150), 230));
    const unit = () => {
      const shown = shownUnit(store.channel.unit);
      return shown || "amplitude";
    };
    const line = (stroke, width) => ({ stroke: () => theme[stroke], width, points: { show: false }, spanGaps: false });
    this.signal = new TimePlot(document.getElementById("signal-plot"), store, {
      height,
      series: [line("signal", 1), line("model", 1.5)],
      y: () => this.signalRange ?? [-1, 1],
      yLabel: unit,
    });
    this.residual = new TimePlot(document.getElementById("residual-plot"), store, {
      height: (width) => Math.round(kResidualShare * height(width)),
      series: [line("residual", 1)],
      y: () => this.residualRange ?? [-1, 1],
      yLabel: unit,
    });
    this.signal.refresh = this.residual.refresh = () => this.draw();
    store.subscribe((changed) => {
      if (["channel", "view", "order"].some((key) => changed.has(key))) this.draw();
    });
    this.draw();
  }

  // [times, signal, model, residual] as drawn; any but the times may be empty. Says in this.note what is left out.
  traces() {
    const { store } = this;
    const { channel, view, data } = store;
    const { signal } = channel;
    const pixels = this.signal.pixels;
    this.note = "";
    const rate = channel.rate_hz;
    const origin = channel.segments.length ? channel.segments[0].start_s : signal?.start_s ?? 0;
    const first = Math.floor((Math.max(view.from_s, channel.start_s) - origin) * rate) - 1;
    const end = Math.ceil((Math.min(view.to_s, channel.end_s) - origin) * rate) + 2;
    let work = end - first;
    for (const i of store.atomsShown(view))
      work += Math.min(2 * kSupport * data.atoms.duration_s[i], view.to_s - view.from_s) * rate;
    const summed = work <= kMostWork ? model(data, channel, store.order, first, end) : null;
    if (!summed) this.note = "Zoom in to see the reconstruction drawn over the signal.";

    if (!signal) {
      const [times, sum] = thinned(origin + first / rate, rate, [summed ?? new Float64Array(end - first).fill(NaN)], pixels);
      this.note = "The page holds no samples of this channel: this is the sum of the atoms alone.";
      return [times, [], sum, []];
    }
    const shift = Math.round((origin - signal.start_s) * signal.rate_hz);
    if (signal.per_bin === 1) {
      const samples = new Float64Array(end - first).fill(NaN);
      const residual = new Float64Array(end - first).fill(NaN);
      for (let n = first; n < end; ++n) {
        const at = n + shift;
        if (at >= 0 && at < signal.samples) samples[n - first] = signal.values[at];
        if (summed) residual[n - first] = samples[n - first] - summed[n - first];
      }
      return thinned(origin + first / rate, rate, [samples, summed ?? residual.fill(NaN), residual], pixels);
    }
    return this.coarse(signal, summed, origin + first / rate, pixels);
  }

  // Of a recording whose samples the page holds as the least and largest of every so many.
  coarse(signal, summed, summed_start_s, pixels) {
    const { view } = this.store;
    const bin_s = signal.per_bin / signal.rate_hz;
    const from = Math.max(0, Math.floor((view.from_s - signal.start_s) / bin_s) - 1);
    const to = Math.min(signal.values.length / 2, Math.ceil((view.to_s - signal.start_s) / bin_s) + 1);
    this.note =
      `The page holds the least and largest of every ${signal.per_bin} samples (${quantity(bin_s, "s", 3)}), ` +
      `and the residual after all atoms. ${this.note}`;
    const cut = (values) => (values ? values.subarray(2 * from, 2 * to) : new Float32Array(2 * (to - from)).fill(NaN));
    const [times, ...drawn] = thinned(signal.start_s + (from + 0.25) * bin_s, 2 / bin_s, [cut(signal.values), cut(signal.residual)], pixels);
    const sum = new Float64Array(times.length).fill(NaN);
    if (summed && times.length > 1) {
      // Least and largest of the sum over the stretch between every other point drawn.
      const step = times[1] - times[0];
      for (let i = 0; i + 1 < times.length; i += 2) {
        const a = Math.round((times[i] - step / 2 - summed_start_s) * this.store.channel.rate_hz);
        const b = Math.round((times[i] + 1.5 * step - summed_start_s) * this.store.channel.rate_hz);
        let low = Infinity;
        let high = -Infinity;
        for (let n = Math.max(a, 0); n < Math.min(b, summed.length); ++n) {
          if (summed[n] < low) low = summed[n];
          if (summed[n] > high) high = summed[n];
        }
        if (low <= high) (sum[i] = low), (sum[i + 1] = high);
      }
    }
    return [times, drawn[0], sum, drawn[1]];
  }

  draw() {
    const { store } = this;
    const [times, signal, sum, residual] = this.traces();
    this.scale(signal.length ? signal : sum, sum, residual);
    const x = Array.from(times);
    const blank = () => x.map(() => null);
    this.signal.draw([x, signal.length ? nulls(signal) : blank(), sum.length ? nulls(sum) : blank()]);
    this.residual.draw([x, residual.length ? nulls(residual) : blank()]);
    this.describe();
  }

  // Both plots show as much a pixel, so that signal and residual compare.
  scale(signal, sum, residual) {
    const span = (...traces) => {
      let low = Infinity;
      let high = -Infinity;
      for (const trace of traces)
        for (const value of trace) if (value < low || value > high) (low = Math.min(low, value)), (high = Math.max(high, value));
      return low <= high ? [low, high] : [-1, 1];
    };
    const [low, high] = span(signal, sum);
    const [least, most] = span(residual);
    let full = Math.max(high - low, 1e-300) * 1.12;
    const part = Math.max(Math.abs(least), Math.abs(most)) * 2.1;
    const share = this.residual.plot.bbox.height / this.signal.plot.bbox.height || kResidualShare;
    if (residual.length) full = Math.max(full, part / share);
    const middle = (low + high) / 2;
    this.signalRange = [middle - full / 2, middle + full / 2];
    this.residualRange = [(-full * share) / 2, (full * share) / 2];
  }

  describe() {
    const { store } = this;
    const { channel, order } = store;
    const some = order < store.mostAtoms ? `first ${plural(order, "atom")}` : "all atoms";
    const legend = document.getElementById("signal-legend");
    const parts = [];
    if (channel.signal) parts.push(["signal", "Signal"]);
    parts.push(["model", `Reconstruction, ${some}`]);
    if (channel.signal) parts.push(["residual", "Residual"]);
    legend.replaceChildren(
      ...parts.map(([name, text]) => {
        const item = document.createElement("span");
        item.className = `key key-${name}`;
        item.textContent = text;
        return item;
      }),
    );
    const note = document.getElementById("signal-note");
    note.textContent = this.note;
    note.hidden = this.note === "";
    const hidden = !channel.signal;
    document.getElementById("residual-plot").hidden = hidden;
    document.getElementById("residual-heading").hidden = hidden;
    const span = `${plain(store.view.from_s, "s")} to ${plain(store.view.to_s, "s")}`;
    this.signal.element.setAttribute("aria-label", `Signal of ${channel.name} with its reconstruction from ${some}, ${span}.`);
    this.residual.element.setAttribute("aria-label", `Residual of ${channel.name} after ${some}, ${span}.`);
  }
}
