// The time-frequency map: the sum of the atoms' Wigner maps in colour, each atom's ellipse and slope drawn on it.
import { densityMap, nearestAtom } from "./chirplets.js";
import { kColors } from "./colors.js";
import { fromToText, plain, plural, rounded, shownUnit } from "./format.js";
import { TimePlot, rightGutter } from "./plot.js";
import { theme } from "./theme.js";

const kDecibels = 40;
const kMostEllipses = 40;
const kMostNumbers = 40; // atoms in view
const kThinnestOutline = 4; // pixels; what is thinner is one line along it
const kThinnestSlope = 10; // pixels; the same for the line within an outline
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
      powers: false,
      yLabel: () => `Frequency (${this.frequencyUnit().unit})`,
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
    const { values, unit } = densityMap(data.atoms, atoms, channel.rate_hz, { ...view, low_hz, high_hz }, columns, rows);
    let most = 0;
    for (const value of values) if (value > most) most = value;
    const top = 10 * Math.log10(most); // -Infinity where there is nothing
    this.top = top + 10 * Math.log10(unit);
    const pixels = new ImageData(columns, rows);
    const bottom = top - kDecibels;
    for (let y = 0; y < rows; ++y)
      for (let x = 0; x < columns; ++x) {
        const value = values[(rows - 1 - y) * columns + x];
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

  // The atoms that reach into view, and of these the ones to outline: the strongest, largest first.
  inView() {
    const { atoms } = this.store.data;
    const { from_s, to_s } = this.store.view;
    return this.visible.filter((i) => atoms.time_s[i] + atoms.duration_s[i] > from_s && atoms.time_s[i] - atoms.duration_s[i] < to_s);
  }

  outlined() {
    const { atoms } = this.store.data;
    return this.inView().sort((a, b) => atoms.energy[b] - atoms.energy[a] || a - b).slice(0, kMostEllipses);
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
    // The weaker the fainter, the strongest on top.
    for (const i of outlined.toReversed()) {
      const below = (10 * Math.log10(data.atoms.energy[outlined[0]] / data.atoms.energy[i])) / kDecibels;
      const fade = Number.isFinite(below) ? Math.min(Math.max(below, 0), 1) : 1;
      if (i !== picked) this.ellipse(u, i, `rgba(255,255,255,${0.9 - 0.6 * fade})`, scale);
    }
    const kept = picked >= 0 && data.atoms.order[picked] <= this.store.order;
    if (kept) {
      this.ellipse(u, picked, "#fff", 4 * scale);
      this.ellipse(u, picked, theme.picked, 2 * scale);
    }
    const taken = [];
    if (kept) this.number(u, picked, true, scale, taken);
    if (this.inView().length <= kMostNumbers)
      for (const i of outlined) if (i !== picked) this.number(u, i, false, scale, taken);
    ctx.restore();
    this.colourBar(u, scale);
  }

  // Where the atom's map has fallen to 1/e, and its slope: f = fc + c (t - tc) for one duration either way. What is too
  // thin for three lines beside each other has its outline alone, or a single line along it.
  ellipse(u, i, colour, width) {
    const { ctx } = u;
    const { at, axis, thickness } = this.shape(u, i);
    ctx.strokeStyle = colour;
    ctx.lineWidth = width;
    ctx.beginPath();
    const across = (angle) => (ctx.moveTo(...at(angle + Math.PI)), ctx.lineTo(...at(angle)));
    if (thickness < kThinnestOutline * devicePixelRatio) across(axis);
    else {
      for (let k = 0; k < 64; ++k) ctx.lineTo(...at((2 * Math.PI * k) / 64));
      ctx.closePath();
      if (thickness >= kThinnestSlope * devicePixelRatio) across(0);
    }
    ctx.stroke();
  }

  // The ellipse as points by angle, 0 the end of the slope; the angle of its long axis, and how thin it is in pixels.
  shape(u, i) {
    const { atoms } = this.store.data;
    const [time, frequency, duration, chirp] = [atoms.time_s[i], atoms.frequency_hz[i], atoms.duration_s[i], atoms.chirp_rate_hz_per_s[i]];
    const [x, y] = [u.valToPos(time, "x", true), u.valToPos(frequency, "y", true)];
    const right = u.valToPos(time + duration, "x", true) - x;
    const down = u.valToPos(frequency + chirp * duration, "y", true) - y;
    const across = u.valToPos(frequency + 1 / (2 * Math.PI * duration), "y", true) - y;
    const at = (angle) => [x + right * Math.cos(angle), y + down * Math.cos(angle) + across * Math.sin(angle)];
    const axis = Math.atan2(2 * down * across, right * right + down * down - across * across) / 2;
    const side = at(axis + Math.PI / 2);
    return { at, axis, thickness: 2 * Math.hypot(side[0] - x, side[1] - y) };
  }

  // The atom's number beside an end of it, where it is within the frame and on no other number.
  number(u, i, picked, scale, taken) {
    const { atoms } = this.store.data;
    const { ctx } = u;
    const { left, top, width, height } = u.bbox;
    ctx.font = `${picked ? 700 : 500} ${Math.round(11 * scale)}px ${theme.font.slice(5)}`;
    const [w, h] = [ctx.measureText(String(atoms.order[i])).width + 4 * scale, 12 * scale];
    const { at } = this.shape(u, i);
    const [right, other] = [at(0), at(Math.PI)];
    const free = ([x, y]) =>
      x >= left && x + w <= left + width && y - h / 2 >= top && y + h / 2 <= top + height &&
      !taken.some(([a, b, c]) => x < a + c && a < x + w && Math.abs(y - b) < h);
    const places = [[right[0] + 4 * scale, right[1]], [other[0] - w - 2 * scale, other[1]]];
    const place = places.find(free);
    if (!place) return;
    const [x, y] = place;
    taken.push([x, y, w]);
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
    const some = outlined === inView ? "" : `The ${outlined} strongest atoms are outlined; zoom in for others. `;
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
      `Time-frequency map of ${store.channel.name}: ${plural(inView, "atom")} from ` +
        `${fromToText(store.view.from_s, store.view.to_s)} and ${plain(low, "Hz")} to ${plain(high, "Hz")}` +
        `${Number.isFinite(this.top) ? `; largest density ${rounded(this.top, 3)} dB` : ""}. The table below holds the same atoms.`,
    );
  }
}
