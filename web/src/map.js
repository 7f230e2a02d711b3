// The time-frequency map: the sum of the atoms' Wigner maps in colour, each atom's ellipse and slope drawn on it.
import { densityMap, nearestAtom } from "./chirplets.js";
import { kColors } from "./colors.js";
import { plain, plural, rounded, secondsText, shownUnit } from "./format.js";
import { TimePlot, rightGutter } from "./plot.js";
import { theme } from "./theme.js";

const kDecibels = 40;
const kMostEllipses = 400;
const kMostNumbers = 40;
const kNarrowest = 2.5; // pixels of duration, where atoms are many
const kRoomForLabel = 70; // pixels beside the map

export class MapPanel {
  constructor(store) {
    this.store = store;
    this.image = document.createElement("canvas");
    this.top = NaN;
    this.plot = new TimePlot(document.getElementById("map-plot"), store, {
      height: (width) => Math.round(Math.min(Math.max(width * 0.38, 250), 420)),
      series: [{ show: true, stroke: "transparent", points: { show: false } }],
      y: () => this.band(),
      yLabel: () => `Frequency (${this.frequencyUnit().unit})`,
      showTimes: true,
      hooks: { drawClear: [(u) => this.paint(u)], draw: [(u) => this.overlay(u)] },
      onClick: (time, frequency) => this.pickAt(time, frequency),
    });
    for (const axis of this.plot.plot.axes) axis.grid.show = false;
    this.plot.plot.axes[1].values = (u, splits) => {
      const { factor } = this.frequencyUnit();
      return splits.map((v) => String(Number((v / factor).toPrecision(6))));
    };
    this.plot.refresh = () => this.draw();
    store.subscribe((changed) => {
      if (["channel", "view", "order", "segment"].some((key) => changed.has(key))) this.draw();
      else if (changed.has("picked")) this.plot.redraw();
    });
    this.draw();
  }

  // The frequencies shown: the band that was searched, widened where atoms lie outside, never beyond 0 and Nyquist.
  band() {
    const { channel } = this.store;
    if (this.bandOf !== channel) (this.bandOf = channel), (this.bandShown = this.findBand());
    return this.bandShown;
  }

  findBand() {
    const { channel, data } = this.store;
    const nyquist = channel.rate_hz / 2;
    const given = data.head.parameters.band_hz;
    let [low, high] = given ?? [nyquist, 0];
    for (const segment of channel.segments)
      for (let i = segment.first; i < segment.first + segment.atoms; ++i) {
        const frequency = data.atoms.frequency_hz[i];
        const spread = given ? 0 : 1 / (Math.PI * data.atoms.duration_s[i]);
        low = Math.min(low, frequency - spread);
        high = Math.max(high, frequency + spread);
      }
    low = Math.max(0, low);
    high = Math.min(nyquist, high);
    if (!(high > low)) return [0, nyquist];
    return low < 0.1 * high ? [0, high] : [low, high];
  }

  frequencyUnit() {
    const [, high] = this.band();
    return high >= 2e6 ? { factor: 1e6, unit: "MHz" } : high >= 2e3 ? { factor: 1e3, unit: "kHz" } : { factor: 1, unit: "Hz" };
  }

  draw() {
    const { store } = this;
    const { view, data, channel } = store;
    const [low_hz, high_hz] = this.band();
    const columns = Math.min(Math.round(this.plot.pixels), 1400);
    const rows = Math.min(Math.round(this.plot.rows), 500);
    const atoms = (this.visible = store.atomsShown(view));
    const map = densityMap(data.atoms, atoms, channel.rate_hz, { ...view, low_hz, high_hz }, columns, rows);
    let most = 0;
    for (const value of map) if (value > most) most = value;
    this.top = 10 * Math.log10(most); // -Infinity where there is nothing
    const pixels = new ImageData(columns, rows);
    const bottom = this.top - kDecibels;
    for (let y = 0; y < rows; ++y)
      for (let x = 0; x < columns; ++x) {
        const value = map[(rows - 1 - y) * columns + x];
        const level = value > 0 ? (10 * Math.log10(value) - bottom) / kDecibels : 0;
        const [r, g, b] = kColors[Math.min(Math.max(Math.round(255 * level), 0), 255)];
        pixels.data.set([r, g, b, 255], 4 * (y * columns + x));
      }
    this.image.width = columns;
    this.image.height = rows;
    this.image.getContext("2d").putImageData(pixels, 0, 0);
    this.plot.draw([[view.from_s, view.to_s], [null, null]]);
    this.describe();
  }

  paint(u) {
    const { left, top, width, height } = u.bbox;
    u.ctx.imageSmoothingEnabled = true;
    u.ctx.drawImage(this.image, left, top, width, height);
  }

  // The atoms that reach into view, and of these the ones to outline: all of them, or the strongest where they are too
  // many; none where they are too narrow to be more than lines.
  inView() {
    const { atoms } = this.store.data;
    const { from_s, to_s } = this.store.view;
    return this.visible.filter((i) => atoms.time_s[i] + atoms.duration_s[i] > from_s && atoms.time_s[i] - atoms.duration_s[i] < to_s);
  }

  outlined() {
    const { atoms } = this.store.data;
    const { from_s, to_s } = this.store.view;
    const inside = this.inView();
    if (inside.length <= kMostNumbers) return inside;
    const least = (kNarrowest * (to_s - from_s)) / this.plot.pixels;
    const wide = inside.filter((i) => atoms.duration_s[i] >= least);
    return wide.sort((a, b) => atoms.energy[b] - atoms.energy[a]).slice(0, kMostEllipses);
  }

  overlay(u) {
    const { ctx } = u;
    const { data, picked } = this.store;
    const scale = devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    ctx.clip();
    const outlined = this.outlined();
    for (const i of outlined) if (i !== picked) this.ellipse(u, i, "rgba(255,255,255,0.8)", scale);
    const kept = picked >= 0 && data.atoms.order[picked] <= this.store.order;
    if (kept) {
      this.ellipse(u, picked, "#fff", 4 * scale);
      this.ellipse(u, picked, theme.picked, 2 * scale);
    }
    if (outlined.length <= kMostNumbers) for (const i of outlined) this.number(u, i, i === picked, scale);
    ctx.restore();
    this.colourBar(u, scale);
  }

  // Where the atom's map has fallen to 1/e, and its slope: f = fc + c (t - tc) for one duration either way.
  ellipse(u, i, colour, width) {
    const { atoms } = this.store.data;
    const { ctx } = u;
    const [time, frequency, duration, chirp] = [atoms.time_s[i], atoms.frequency_hz[i], atoms.duration_s[i], atoms.chirp_rate_hz_per_s[i]];
    const at = (t, f) => [u.valToPos(time + t, "x", true), u.valToPos(frequency + f, "y", true)];
    ctx.strokeStyle = colour;
    ctx.lineWidth = width;
    ctx.beginPath();
    for (let k = 0; k <= 64; ++k) {
      const angle = (2 * Math.PI * k) / 64;
      const t = duration * Math.cos(angle);
      ctx.lineTo(...at(t, chirp * t + Math.sin(angle) / (2 * Math.PI * duration)));
    }
    ctx.closePath();
    ctx.moveTo(...at(-duration, -chirp * duration));
    ctx.lineTo(...at(duration, chirp * duration));
    ctx.stroke();
  }

  number(u, i, picked, scale) {
    const { atoms } = this.store.data;
    const { ctx } = u;
    const half = atoms.duration_s[i];
    const x = Math.min(u.valToPos(atoms.time_s[i] + half, "x", true) + 4 * scale, u.bbox.left + u.bbox.width - 18 * scale);
    const y = u.valToPos(atoms.frequency_hz[i] + atoms.chirp_rate_hz_per_s[i] * half, "y", true);
    ctx.font = `${picked ? 700 : 500} ${Math.round(11 * scale)}px ${theme.font.slice(5)}`;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    ctx.lineWidth = 3 * scale;
    ctx.lineJoin = "round";
    ctx.strokeStyle = "rgba(0,20,50,0.75)";
    ctx.strokeText(String(atoms.order[i]), x, y);
    ctx.fillStyle = picked ? "#ffd9c2" : "#fff";
    ctx.fillText(String(atoms.order[i]), x, y);
  }

  colourBar(u, scale) {
    const { ctx } = u;
    const gutter = rightGutter(this.plot.element.clientWidth) * scale;
    const left = u.bbox.left + u.bbox.width + 10 * scale;
    const width = 10 * scale;
    const { top, height } = u.bbox;
    kColors.forEach(([r, g, b], k) => {
      ctx.fillStyle = `rgb(${r},${g},${b})`;
      const y = top + height * (1 - (k + 1) / kColors.length);
      ctx.fillRect(left, y, width, height / kColors.length + 1);
    });
    if (!Number.isFinite(this.top)) return;
    ctx.font = `${Math.round(12 * scale)}px ${theme.font.slice(5)}`;
    ctx.fillStyle = theme.muted;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    const first = Math.ceil((this.top - kDecibels) / 10) * 10;
    for (let level = first; level <= this.top; level += 10) {
      const y = top + height * (1 - (level - this.top + kDecibels) / kDecibels);
      ctx.fillText(String(level).replace("-", "\u2212"), left + width + 5 * scale, Math.min(Math.max(y, top + 6 * scale), top + height - 6 * scale));
    }
    if (gutter < kRoomForLabel * scale) return;
    ctx.save();
    ctx.translate(left + gutter - 18 * scale, top + height / 2);
    ctx.rotate(Math.PI / 2);
    ctx.textAlign = "center";
    ctx.fillText(this.scaleLabel(), 0, 0);
    ctx.restore();
  }

  scaleLabel() {
    const unit = shownUnit(this.store.channel.unit);
    return unit ? `dB re 1 ${unit}²/Hz` : "dB re 1/Hz (no unit)";
  }

  pickAt(time, frequency) {
    const { store } = this;
    const [low, high] = this.band();
    const cell_s = (12 * (store.view.to_s - store.view.from_s)) / this.plot.pixels;
    const cell_hz = (12 * (high - low)) / this.plot.rows;
    store.pick(nearestAtom(store.data.atoms, this.visible, time, frequency, cell_s, cell_hz));
  }

  describe() {
    const { store } = this;
    const inView = this.inView().length;
    const outlined = this.outlined().length;
    const some =
      outlined === inView ? "" : outlined > 0 ? `${plural(outlined, "atom")} outlined; zoom in for the others. ` : "Zoom in to see atoms outlined. ";
    const hint = document.createElement("span");
    hint.className = "hint";
    hint.textContent = " Click one to pick it, drag to zoom, double-click for the whole.";
    document
      .getElementById("map-note")
      .replaceChildren(`${some}An ellipse marks where an atom’s map has fallen to 1/e, the line in it how its frequency moves.`, hint);
    document.getElementById("map-legend").textContent =
      `${plural(inView, "atom")} in view; colour: power density, ${this.scaleLabel()}`;
    const [low, high] = this.band();
    this.plot.element.setAttribute(
      "aria-label",
      `Time-frequency map of ${store.channel.name}: ${plural(inView, "atom")} from ${secondsText(store.view.from_s)} to ` +
        `${secondsText(store.view.to_s)} and ${plain(low, "Hz")} to ${plain(high, "Hz")}` +
        `${Number.isFinite(this.top) ? `; largest density ${rounded(this.top, 3)} dB` : ""}. The table below holds the same atoms.`,
    );
  }
}
