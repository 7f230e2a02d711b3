// The mathematics of the page: the sum of atoms, their Wigner maps, and what they leave.

export const kSupport = 6; // an atom ends at so many durations from its centre

// Adds the atom at times start_s + n / rate_hz to out, n from 0, cut to n in [from, to).
export function addAtom(atoms, i, start_s, rate_hz, out, from, to) {
  const centre = atoms.time_s[i] - start_s;
  const duration = atoms.duration_s[i];
  const reach = kSupport * duration;
  const low = Math.max(from, Math.ceil((centre - reach) * rate_hz - 1e-6));
  const high = Math.min(to - 1, Math.floor((centre + reach) * rate_hz + 1e-6));
  const frequency = atoms.frequency_hz[i];
  const chirp = atoms.chirp_rate_hz_per_s[i];
  for (let n = low; n <= high; ++n) {
    const t = n / rate_hz - centre;
    const u = t / duration;
    out[n] +=
      atoms.amplitude[i] *
      Math.exp(-0.5 * u * u) *
      Math.cos(2 * Math.PI * (frequency * t + 0.5 * chirp * t * t) + atoms.phase_rad[i]);
  }
}

// The channel's model, trend and first `order` kept atoms of each segment, at samples [first, end) counted from
// channel.segments[0]; NaN where nothing was analysed. Where segments overlap, a trend holds to the middle.
export function model(data, channel, order, first, end) {
  const { atoms } = data;
  const out = new Float64Array(end - first).fill(NaN);
  const origin = channel.segments.length ? channel.segments[0].start_s : 0;
  const placed = channel.segments
    .filter((s) => s.stop_reason !== "missing" && s.samples > 0)
    .map((segment) => {
      const at = Math.round((segment.start_s - origin) * channel.rate_hz);
      return { segment, first: at, end: at + segment.samples };
    });
  let from = 0;
  placed.forEach((p, i) => {
    const next = placed[i + 1];
    const to = next && next.first < p.end ? Math.floor((p.end + next.first + 1) / 2) : p.end;
    const { mean, slope_per_s } = p.segment;
    for (let n = Math.max(from, p.first, first); n < Math.min(to, end); ++n)
      out[n - first] = mean + (slope_per_s * (n - p.first)) / channel.rate_hz;
    from = Math.max(from, to);
  });
  for (const p of placed) {
    if (p.end <= first || p.first >= end) continue;
    const start_s = p.segment.start_s + (first - p.first) / channel.rate_hz; // of out[0], on the segment's own grid
    const low = Math.max(p.first, first) - first;
    const high = Math.min(p.end, end) - first;
    const last = p.segment.first + Math.min(order, p.segment.atoms);
    for (let i = p.segment.first; i < last; ++i)
      if (atoms.kept[i]) addAtom(atoms, i, start_s, channel.rate_hz, out, low, high);
  }
  return out;
}

// The Wigner map of an atom, 2 E exp(-(t-tc)^2/Dt^2 - 4 pi^2 Dt^2 (f - fc - c (t-tc))^2), is a normal density of weight
// E. Spread by half a cell, so that what is smaller than one is neither lost nor seen too large, it stays one:
// peak exp(-(t-tc)^2/(2 across_t) - (f - fc - slope (t-tc))^2/(2 across_f)).
export function spreadMap(duration, chirp, energy, cell_s, cell_hz) {
  const time = (duration * duration) / 2;
  const along = 1 / (8 * Math.PI * Math.PI * duration * duration);
  const across_t = time + (cell_s * cell_s) / 4;
  const joint = chirp * time;
  const slope = joint / across_t;
  const across_f = along + chirp * chirp * time + (cell_hz * cell_hz) / 4 - slope * joint;
  return { peak: energy / (2 * Math.PI * Math.sqrt(across_t * across_f)), slope, across_t, across_f };
}

// Sum of the maps of those atoms at the centres of columns x rows cells that fill the view; row 0 has the lowest
// frequencies. Energies are divided by the rate, so that the map is a power density, unit^2/Hz; values are shares of
// `unit`, the largest density of a single atom, which single precision holds however small the signal's unit is.
export function densityMap(atoms, indices, rate_hz, view, columns, rows) {
  const values = new Float32Array(columns * rows);
  const cell_s = (view.to_s - view.from_s) / columns;
  const cell_hz = (view.high_hz - view.low_hz) / rows;
  const kReach = 5.5; // standard deviations; exp(-15) is below any colour
  const spread = (i) =>
    spreadMap(atoms.duration_s[i], atoms.chirp_rate_hz_per_s[i], atoms.energy[i] / rate_hz, cell_s, cell_hz);
  const drawn = indices.filter((i) => spread(i).peak > 0 && Number.isFinite(spread(i).peak));
  const unit = drawn.reduce((most, i) => Math.max(most, spread(i).peak), 0);
  for (const i of drawn) {
    const { peak, slope, across_t, across_f } = spread(i);
    const reach_t = kReach * Math.sqrt(across_t);
    const reach_f = kReach * Math.sqrt(across_f);
    const time = atoms.time_s[i] - view.from_s;
    const left = Math.max(0, Math.floor((time - reach_t) / cell_s));
    const right = Math.min(columns - 1, Math.ceil((time + reach_t) / cell_s));
    for (let x = left; x <= right; ++x) {
      const t = (x + 0.5) * cell_s - time;
      const height = (peak / unit) * Math.exp((-t * t) / (2 * across_t));
      const ridge = atoms.frequency_hz[i] + slope * t - view.low_hz;
      const bottom = Math.max(0, Math.floor((ridge - reach_f) / cell_hz));
      const top = Math.min(rows - 1, Math.ceil((ridge + reach_f) / cell_hz));
      for (let y = bottom; y <= top; ++y) {
        const f = (y + 0.5) * cell_hz - ridge;
        values[y * columns + x] += height * Math.exp((-f * f) / (2 * across_f));
      }
    }
  }
  return { values, unit };
}

// Share of the segments' energy left after the first `order` atoms of each.
export function energyLeft(data, segments, order) {
  let energy = 0;
  let left = 0;
  for (const segment of segments) {
    energy += segment.energy;
    left += segment.energy * leftAfter(data, segment, order);
  }
  return energy > 0 ? left / energy : 1;
}

function leftAfter(data, segment, order) {
  const last = Math.min(order, segment.atoms);
  if (last === 0) return 1;
  return last === segment.atoms ? segment.energy_left_share : data.atoms.energy_left_share[segment.first + last - 1];
}

// The atom of those whose ellipse is nearest to (t, f), or -1 if none is near; distances in ellipses, but no ellipse
// counts as smaller than the cell, which is what a pointer can hit.
export function nearestAtom(atoms, indices, time_s, frequency_hz, cell_s, cell_hz) {
  let best = -1;
  let least = 4;
  for (const i of indices) {
    const { slope, across_t, across_f } = spreadMap(
      atoms.duration_s[i], atoms.chirp_rate_hz_per_s[i], 1, cell_s, cell_hz);
    const t = time_s - atoms.time_s[i];
    const f = frequency_hz - atoms.frequency_hz[i] - slope * t;
    const distance = (t * t) / (2 * across_t) + (f * f) / (2 * across_f);
    if (distance < least) (least = distance), (best = i);
  }
  return best;
}
