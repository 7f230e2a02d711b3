// The signal with its reconstruction over it, and the residual below at the same scale.
import { kSupport, model } from "./chirplets.js";
import { fromToText, plural, quantity, shownUnit } from "./format.js";
import { TimePlot, belowPlot } from "./plot.js";
import { theme } from "./theme.js";

const kMostWork = 6e6; // samples of atoms summed for one drawing; a third of a second
const kMostAnnotations = 60;
const kResidualShare = 0.55; // height of the residual's plot inside its axes, of the signal's
const kDense = 0.55; // opacity of a reconstruction drawn over a signal of several samples a pixel

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
    const model = () => `color-mix(in srgb, ${theme.model} ${this.dense ? 100 * kDense : 100}%, transparent)`;
    this.signal = new TimePlot(document.getElementById("signal-plot"), store, {
      height: (width) => height(width) + belowPlot("ticks"),
      times: "ticks",
      series: [line("signal", 1), { ...line("model", 1.5), stroke: model }, line("signal", 1), line("signal", 1)],
      bands: [{ series: [4, 3], fill: () => `color-mix(in srgb, ${theme.signal} 30%, transparent)` }],
      hooks: { draw: [(u) => this.annotations(u)] },
      y: () => this.signalRange ?? [-1, 1],
      yLabel: unit,
    });
    this.residual = new TimePlot(document.getElementById("residual-plot"), store, {
      height: (width) => Math.round(kResidualShare * height(width)) + belowPlot("full"),
      series: [line("residual", 1), line("residual", 1), line("residual", 1)],
      bands: [{ series: [3, 2], fill: () => `color-mix(in srgb, ${theme.residual} 30%, transparent)` }],
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
    if (to - from < pixels / 2) return this.bands(signal, summed, summed_start_s, bin_s);
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

  // The same where each of these bins is several pixels wide: the sum as it is, the signal and the residual as the
  // stretch that each stays in.
  bands(signal, summed, summed_start_s, bin_s) {
    const { rate_hz } = this.store.channel;
    const n = summed?.length ?? 0;
    const times = Float64Array.from({ length: n }, (_, i) => summed_start_s + i / rate_hz);
    const side = (values, which) =>
      Float64Array.from(times, (t) => values[2 * Math.floor((t - signal.start_s) / bin_s + 1e-6) + which] ?? NaN);
    const both = (values) => (values ? [side(values, 0), side(values, 1)] : []);
    return [times, [], summed ?? [], [], both(signal.values), both(signal.residual)];
  }

  draw() {
    const [times, signal, sum, residual, around = [], around_residual = []] = this.traces();
    const x = Array.from(times);
    const blank = x.map(() => null);
    const drawn = (trace) => (trace?.length ? nulls(trace) : blank);
    const seconds = Math.max(this.store.view.to_s - this.store.view.from_s, 1e-300);
    this.dense = this.store.channel.signal !== null && this.store.channel.rate_hz * seconds > 2 * this.signal.pixels;
    this.scale([signal, sum, ...around], residual.length ? [residual] : around_residual);
    this.signal.draw([x, drawn(signal), drawn(sum), drawn(around[0]), drawn(around[1])]);
    this.residual.draw([x, drawn(residual), drawn(around_residual[0]), drawn(around_residual[1])]);
    this.describe();
  }

  // Those of the recording, where they are not too many: a line at the onset, with its text while there is room.
  annotations(u) {
    const { data, view } = this.store;
    const inside = data.annotations.filter(([onset]) => onset >= view.from_s && onset <= view.to_s);
    if (inside.length === 0 || inside.length > kMostAnnotations) return;
    const { ctx } = u;
    const scale = devicePixelRatio;
    ctx.save();
    ctx.font = `${Math.round(11 * scale)}px ${theme.font.slice(5)}`;
    ctx.setLineDash([3 * scale, 3 * scale]);
    ctx.textBaseline = "top";
    ctx.textAlign = "left";
    // The events that windows lie about come first, so that their texts find room.
    const asked = new Set(this.store.channel.segments.map((s) => s.event?.annotation));
    const drawn = inside.filter((a) => asked.has(a)).concat(inside.filter((a) => !asked.has(a)));
    const taken = [];
    for (const annotation of drawn) {
      const [onset, , text] = annotation;
      ctx.strokeStyle = ctx.fillStyle = asked.has(annotation) ? theme.ink : theme.muted;
      const x = u.valToPos(onset, "x", true);
      ctx.beginPath();
      ctx.moveTo(x, u.bbox.top);
      ctx.lineTo(x, u.bbox.top + u.bbox.height);
      ctx.stroke();
      const shown = text.length > 24 ? `${text.slice(0, 23)}…` : text;
      const end = x + ctx.measureText(shown).width + 8 * scale;
      if (end > u.bbox.left + u.bbox.width + 68 * scale || taken.some(([a, b]) => x < b && a < end)) continue;
      ctx.fillText(shown, x + 3 * scale, u.bbox.top + 1);
      taken.push([x, end]);
    }
    ctx.restore();
  }

  // Both plots show as much a pixel, so that signal and residual compare.
  scale(signals, residuals) {
    const span = (traces) => {
      let low = Infinity;
      let high = -Infinity;
      for (const trace of traces)
        for (const value of trace) if (value < low || value > high) (low = Math.min(low, value)), (high = Math.max(high, value));
      return low <= high ? [low, high] : [-1, 1];
    };
    const [low, high] = span(signals);
    const [least, most] = span(residuals);
    let full = Math.max(high - low, 1e-300) * 1.12;
    const part = Math.max(Math.abs(least), Math.abs(most)) * 2.1;
    const share = this.residual.plot.bbox.height / this.signal.plot.bbox.height || kResidualShare;
    if (residuals.length) full = Math.max(full, part / share);
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
    const span = fromToText(store.view.from_s, store.view.to_s);
    this.signal.element.setAttribute("aria-label", `Signal of ${channel.name} with its reconstruction from ${some}, ${span}.`);
    this.residual.element.setAttribute("aria-label", `Residual of ${channel.name} after ${some}, ${span}.`);
  }
}
