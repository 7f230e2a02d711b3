// The head of the page and its end: what the recording is, how it was taken apart and why that stopped, in words.
import { percent, plain, plural, quantity, raised, rounded, shownUnit, spanText } from "./format.js";

const kStopReasons = {
  atoms: "reached the number of atoms asked for",
  snr: "reached the signal-to-noise ratio asked for",
  energy: "reached the share of energy asked for",
  noise: "stopped where the next atom could have been white noise",
  silence: "held no signal",
  missing: "were left out for missing samples",
  exhausted: "found no further atom that takes energy away",
  threshold: "stopped where the next atom would take less energy than asked for",
  density: "reached the atoms a second asked for",
};

const kMethods = {
  mp: "matching pursuit: the best atom, refined and subtracted, and so on",
  omp: "orthogonal matching pursuit: all amplitudes and phases fitted again after each atom",
  joint: "matching pursuit, then all parameters of all atoms fitted together",
};

const range = (pair, unit) => `${plain(pair[0], unit)} to ${plain(pair[1], unit)}`;

export function fillHead(data) {
  const { head } = data;
  const name = head.source.name || "Recording in memory";
  document.title = `${name} – Envoi`;
  document.getElementById("title").textContent = name;
  const warnings = document.getElementById("warnings");
  if (head.warnings.length > 0) {
    const box = document.createElement("div");
    box.className = "warnings";
    const title = document.createElement("strong");
    title.textContent = plural(head.warnings.length, "warning");
    const list = document.createElement("ul");
    for (const text of head.warnings.slice(0, 20)) list.append(item(text));
    if (head.warnings.length > 20) list.append(item(`and ${head.warnings.length - 20} more, in the result file`));
    box.append(title, list);
    warnings.append(box);
  }
  document.getElementById("colophon").textContent =
    `Made with Envoi ${head.program.version}. This page is complete in itself and loads nothing.`;
}

export class Facts {
  constructor(store) {
    this.store = store;
    store.subscribe((changed) => {
      if (changed.has("channel")) this.draw();
    });
    this.draw();
  }

  draw() {
    this.summary();
    const { head } = this.store.data;
    const groups = [
      ["Recording", this.recording()],
      ["Before the analysis", this.conditioning(head.parameters.conditioning)],
      ["Atoms sought", this.sought(head.parameters, head.grid)],
      ["Pursuit", this.pursuit(head.parameters)],
      ["Outcome", this.outcome()],
      ["Program", this.program()],
    ];
    const columns = document.createElement("div");
    columns.className = "fact-groups";
    for (const [title, rows] of groups) {
      if (rows.length === 0) continue;
      const group = document.createElement("div");
      const heading = document.createElement("h3");
      heading.textContent = title;
      const list = document.createElement("dl");
      list.className = "facts";
      for (const [name, text] of rows) {
        const term = document.createElement("dt");
        const value = document.createElement("dd");
        term.textContent = name;
        value.textContent = text;
        if (name === "SHA-256") value.className = "hash";
        list.append(term, value);
      }
      group.append(heading, list);
      columns.append(group);
    }
    document.getElementById("facts").replaceChildren(columns, this.parameters());
  }

  // One line under the title.
  summary() {
    const { channel } = this.store;
    const analysed = channel.segments.filter((s) => s.stop_reason !== "missing");
    const energy = analysed.reduce((sum, s) => sum + s.energy, 0);
    const left = analysed.reduce((sum, s) => sum + s.energy * s.energy_left_share, 0);
    const count = channel.segments.reduce((sum, s) => sum + s.atoms, 0);
    const { events } = this.store.data.head.parameters;
    const stretch = events
      ? `${plural(analysed.length, "window")} of ${spanText(events.before_s + events.after_s)} around “${events.text}” in`
      : `${spanText(channel.end_s - channel.start_s)} of`;
    const parts = [`${stretch} ${channel.name ? `channel ${channel.name}` : "one channel"} at ${plain(channel.rate_hz, "Hz")}`];
    if (energy > 0)
      parts.push(
        `${plural(count, "chirplet")} that ${count === 1 ? "explains" : "explain"} ${percent(1 - left / energy)} of ${events && analysed.length > 1 ? "their" : "its"} energy (SNR ${left > 0 ? `${rounded(10 * Math.log10(energy / left), 3)}\u00a0dB` : "without limit"})`);
    else parts.push(plural(count, "chirplet"));
    document.getElementById("summary").textContent = `${parts.join(": ")}.`;
  }

  recording() {
    const { source } = this.store.data.head;
    const { channel, data } = this.store;
    const rows = [["File", source.name || "none"], ["Format", source.format]];
    if (source.start) rows.push(["Recorded", source.start.replace("T", " ")]);
    if (source.sha256) rows.push(["SHA-256", source.sha256]);
    rows.push(["Channel", data.channels.length > 1 ? `${channel.name} (${channel.index + 1} of ${data.channels.length})` : channel.name || "unnamed"]);
    if (data.annotations.length > 0) rows.push(["Annotations", String(data.annotations.length)]);
    rows.push(["Rate", plain(channel.rate_hz, "Hz")], ["Unit", shownUnit(channel.unit) || "not given by the file"]);
    return rows;
  }

  conditioning(c) {
    if (!c) return [];
    const rows = [];
    if (c.reference) rows.push(["Reference", c.reference]);
    if (c.bipolar?.length) rows.push(["Differences", c.bipolar.join(", ")]);
    if (c.high_pass_hz != null) rows.push(["High-pass", plain(c.high_pass_hz, "Hz")]);
    if (c.low_pass_hz != null) rows.push(["Low-pass", plain(c.low_pass_hz, "Hz")]);
    if (c.notch_hz?.length) rows.push(["Notch", c.notch_hz.map((f) => plain(f, "Hz")).join(", ")]);
    if (c.resample_hz != null) rows.push(["Resampled", `to ${plain(c.resample_hz, "Hz")}`]);
    return rows;
  }

  sought(p, grid) {
    const rows = [];
    if (p.band_hz) rows.push(["Band", range(p.band_hz, "Hz")]);
    if (p.durations_s) rows.push(["Durations", range(p.durations_s, "s")]);
    if (p.gabor) rows.push(["Chirp rates", "none: frequencies do not move"]);
    else if (p.chirp_rates_hz_per_s) rows.push(["Chirp rates", range(p.chirp_rates_hz_per_s, "Hz/s")]);
    const count = this.store.channel.atoms_per_segment ?? grid.atoms_per_segment;
    rows.push(["Grid", `${plural(count, "atom")}${grid.max_loss > 0 ? `, which miss at most ${percent(grid.max_loss, 2)} of any atom’s energy` : ", given point by point"}`]);
    rows.push(["Refinement", p.refine ? "off the grid, to where the data put each atom" : "none: atoms stay on the grid"]);
    rows.push(["Phase", p.phase === "fixed" ? "fixed at 0" : "fitted"]);
    return rows;
  }

  pursuit(p) {
    const rows = [["Method", kMethods[p.method] ?? p.method]];
    const windows = p.events
      ? `around each “${p.events.text}”, ${plain(p.events.before_s, "s")} before to ${plain(p.events.after_s, "s")} after`
      : p.whole_signal
      ? "none: atoms of the whole recording"
      : p.whole
        ? "one, over everything"
        : p.window_s
          ? `${plain(p.window_s, "s")}, one every ${plain(p.hop_s ?? p.window_s, "s")}`
          : "as chosen";
    rows.push(["Windows", windows]);
    if (p.across && p.across !== "independent")
      rows.push(["Channels", p.across === "joint-phase" ? "together: one atom and one phase for all" : "together: one atom for all, an amplitude and phase each"]);
    const stop = p.stop;
    const rules = [];
    if (stop.atoms != null) rules.push(`after ${plural(stop.atoms, "atom")}`);
    if (stop.snr_db != null) rules.push(`at an SNR of ${plain(stop.snr_db)}\u00a0dB`);
    if (stop.energy_left_share != null) rules.push(`when ${percent(stop.energy_left_share)} of the energy is left`);
    if (stop.noise_p != null) rules.push(`when the next atom could be white noise (alarm rate ${plain(stop.noise_p)})`);
    if (stop.threshold != null) rules.push(`before an atom of less energy than ${plain(stop.threshold)}`);
    if (stop.density_per_s != null) rules.push(`at ${plain(stop.density_per_s)} atoms a second`);
    rows.push(["Stops", rules.join(", or ") || "never"]);
    rows.push(["Detrending", { mean: "the mean is taken off", linear: "a line is taken off", none: "none" }[p.detrend] ?? p.detrend]);
    rows.push(["Missing samples", p.missing === "weight" ? "weight zero" : "windows that have some are left out"]);
    return rows;
  }

  outcome() {
    const { channel } = this.store;
    const { segments } = channel;
    const counts = new Map();
    for (const s of segments) counts.set(s.stop_reason, (counts.get(s.stop_reason) ?? 0) + 1);
    const reasons = [...counts].map(([reason, count]) => {
      const words = kStopReasons[reason] ?? reason;
      if (segments.length === 1) return `It ${words.replace(/^were /, "was ").replace("held", "held")}`;
      return `${plural(count, "window")} ${count === 1 ? words.replace(/^were /, "was ") : words}`;
    });
    const rows = [["Stopped because", `${reasons.join("; ")}.`]];
    if (segments.length === 1) {
      const [s] = segments;
      rows.push(["SNR", quantity(s.snr_db, "", 4) + "\u00a0dB"], ["Energy left", percent(s.energy_left_share)]);
      rows.push(["Energy in the band", percent(s.in_band_share)]);
    } else if (segments.length > 1) {
      const snr = segments.filter((s) => s.atoms > 0).map((s) => s.snr_db).sort((a, b) => a - b);
      if (snr.length > 0)
        rows.push(["SNR of windows", `${rounded(snr[0], 3)} to ${rounded(snr.at(-1), 3)}\u00a0dB, median ${rounded(snr[snr.length >> 1], 3)}\u00a0dB`]);
    }
    const missing = segments.reduce((sum, s) => sum + s.missing_samples, 0);
    if (missing > 0) rows.push(["Missing", plural(missing, "sample")]);
    const bound = segments.reduce((most, s) => Math.max(most, s.bound), 0);
    if (bound > 0)
      rows.push(["Certificate", `Winners scored in double precision; the screen’s relative error is at most ${power(bound)}.`]);
    return rows;
  }

  program() {
    const { program } = this.store.data.head;
    return [["Version", `Envoi ${program.version}`], ["Ran on", `${program.device}, ${program.isa}`]];
  }

  // Every parameter by its name in the result file.
  parameters() {
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = "All parameters, by their names in the result file";
    const list = document.createElement("dl");
    list.className = "facts parameters";
    const add = (name, value) => {
      if (value !== null && typeof value === "object" && !Array.isArray(value)) {
        for (const [key, inner] of Object.entries(value)) add(name ? `${name}.${key}` : key, inner);
        return;
      }
      const term = document.createElement("dt");
      const text = document.createElement("dd");
      term.textContent = name;
      text.textContent = value === null || value === "" ? "–" : Array.isArray(value) ? value.join(", ") || "–" : String(value);
      list.append(term, text);
    };
    add("", this.store.data.head.parameters);
    details.append(summary, list);
    return details;
  }
}

function item(text) {
  const element = document.createElement("li");
  element.textContent = text;
  return element;
}

// "2.4 · 10⁻⁵"
function power(value) {
  const [digits, exponent] = value.toExponential(1).split("e");
  return `${digits}\u00a0·\u00a010${raised(Number(exponent))}`;
}
