// The atom that is picked, in words and numbers.
import { percent, plain, quantity, rounded, timeText } from "./format.js";

const kFwhm = 2.3548200450309493;
const kTradeOff = 1.5; // amplitude over peak, beyond which the amplitude is not the atom's height

export class PickedPanel {
  constructor(store) {
    this.store = store;
    this.element = document.getElementById("picked");
    store.subscribe((changed) => {
      if (changed.has("picked") || changed.has("channel")) this.draw(changed.has("picked"));
    });
    this.draw(false);
  }

  draw(announce) {
    const { store } = this;
    const { picked } = store;
    const announcer = document.getElementById("announcer");
    const heading = document.getElementById("picked-heading");
    this.element.replaceChildren();
    if (picked < 0) {
      heading.textContent = "Atom";
      const hint = document.createElement("p");
      hint.className = "note hint";
      hint.textContent = "None picked. Choose one on the map or in the table.";
      this.element.append(hint);
      if (announce) announcer.textContent = "No atom picked";
      return;
    }
    const { atoms, segments } = store.data;
    const segment = segments[atoms.segment[picked]];
    const about = segment.event ? `, “${segment.event.text}” at ${timeText(segment.event.time_s, segment.rate_hz)}\u00a0s` : "";
    const window = (store.channel.segments.length > 1 ? `, window ${segment.number}` : "") + about;
    heading.textContent = `Atom ${atoms.order[picked]}${window}`;
    const words = this.words(picked);
    const sentence = document.createElement("p");
    sentence.className = "sentence";
    sentence.textContent = words;
    const list = document.createElement("dl");
    list.className = "facts";
    for (const [name, text] of this.rows(picked)) {
      const term = document.createElement("dt");
      term.textContent = name;
      const value = document.createElement("dd");
      value.textContent = text;
      list.append(term, value);
    }
    this.element.append(sentence, list);
    if (announce) announcer.textContent = `Atom ${atoms.order[picked]}${window}: ${words}`;
  }

  words(i) {
    const { atoms } = this.store.data;
    const chirp = atoms.chirp_rate_hz_per_s[i];
    const change = chirp * kFwhm * atoms.duration_s[i];
    const flat = Math.abs(change) < 0.02 * atoms.frequency_hz[i];
    const from = quantity(atoms.frequency_hz[i] - change / 2, "Hz", 3);
    const to = quantity(atoms.frequency_hz[i] + change / 2, "Hz", 3);
    const motion = flat ? `steady at ${quantity(atoms.frequency_hz[i], "Hz", 3)}` : `${chirp > 0 ? "rising" : "falling"} from ${from} to ${to}`;
    const share = Number.isFinite(atoms.energy_share[i]) ? `, ${percent(atoms.energy_share[i])} of the energy` : "";
    return `${quantity(kFwhm * atoms.duration_s[i], "s", 3)} long (FWHM), ${motion}${share}.`;
  }

  rows(i) {
    const { atoms } = this.store.data;
    const unit = this.store.channel.unit;
    const error = (field, of) => {
      const value = atoms.errors[field][i];
      return Number.isFinite(value) && value > 0 ? ` ± ${quantity(value, of, 2)}` : "";
    };
    const rows = [
      ["Time", `${timeText(atoms.time_s[i], this.store.channel.rate_hz)}\u00a0s${error("time_s", "s")}`],
      ["Frequency", quantity(atoms.frequency_hz[i], "Hz", 5) + error("frequency_hz", "Hz")],
      ["Duration", quantity(atoms.duration_s[i], "s", 4) + error("duration_s", "s")],
      ["Chirp rate", quantity(atoms.chirp_rate_hz_per_s[i], "Hz/s", 4) + error("chirp_rate_hz_per_s", "Hz/s")],
      ["Peak", quantity(atoms.peak[i], unit, 4)],
      ["Amplitude", quantity(atoms.amplitude[i], unit, 4) + error("amplitude", unit)],
      ["Phase", `${rounded(atoms.phase_rad[i], 3)}\u00a0rad${error("phase_rad", "rad")}`],
      ["Energy", quantity(atoms.energy[i], unit && `${unit}²`, 4)],
      ["Left after it", percent(atoms.energy_left_share[i])],
    ];
    if (atoms.amplitude[i] > kTradeOff * atoms.peak[i])
      rows.push(["Note", `amplitude and phase trade off (${plain(atoms.amplitude[i] / atoms.peak[i])} peaks): read the peak`]);
    if (!atoms.kept[i]) rows.push(["Note", "belongs to the overlapping window; not part of the reconstruction"]);
    return rows;
  }
}
