// What the page shows at the moment, and who wants to know when it changes.

export class Store {
  constructor(data) {
    this.data = data;
    this.channel = data.channels.find((c) => c.segments.length > 0) ?? data.channels[0];
    this.segment = null; // null: all of the channel's
    this.order = this.channel.most_atoms;
    this.view = { from_s: this.channel.start_s, to_s: this.channel.end_s };
    this.picked = -1;
    this.listeners = [];
    this.changed = new Set();
  }

  subscribe(listener) {
    this.listeners.push(listener);
  }

  // Listeners hear of changes once a frame, all at once.
  set(changes) {
    Object.assign(this, changes);
    for (const key of Object.keys(changes)) {
      if (this.changed.size === 0) requestAnimationFrame(() => this.flush());
      this.changed.add(key);
    }
  }

  flush() {
    const changed = this.changed;
    this.changed = new Set();
    for (const listener of this.listeners) listener(changed);
  }

  get segments() {
    return this.segment ? [this.segment] : this.channel.segments;
  }

  get mostAtoms() {
    return this.segments.reduce((most, segment) => Math.max(most, segment.atoms), 0);
  }

  // The span that the view cannot leave.
  get extent() {
    return { from_s: this.channel.start_s, to_s: this.channel.end_s };
  }

  chooseChannel(channel) {
    const all = this.order >= this.mostAtoms;
    const keep = this.view.from_s < channel.end_s && this.view.to_s > channel.start_s && !this.segment;
    const view = keep ? this.view : { from_s: channel.start_s, to_s: channel.end_s };
    const order = all ? channel.most_atoms : Math.min(this.order, channel.most_atoms);
    this.set({ channel, segment: null, order, picked: -1, view });
  }

  chooseSegment(segment) {
    const all = this.order >= this.mostAtoms;
    this.segment = segment;
    const order = all ? this.mostAtoms : Math.min(this.order, this.mostAtoms);
    const view = segment ? { from_s: segment.start_s, to_s: segment.end_s } : this.extent;
    const picked = this.picked >= 0 && segment && this.data.atoms.segment[this.picked] !== segment.index ? -1 : this.picked;
    this.set({ segment, order, view, picked });
  }

  show(from_s, to_s) {
    const whole = this.extent;
    const least = 8 / this.channel.rate_hz;
    const length = Math.min(Math.max(to_s - from_s, least), whole.to_s - whole.from_s);
    const middle = (from_s + to_s) / 2;
    const from = Math.min(Math.max(middle - length / 2, whole.from_s), whole.to_s - length);
    this.set({ view: { from_s: from, to_s: from + length } });
  }

  zoom(factor) {
    const { from_s, to_s } = this.view;
    const { atoms } = this.data;
    const picked = this.picked >= 0 ? atoms.time_s[this.picked] : NaN;
    const middle = factor < 1 && picked > from_s && picked < to_s ? picked : (from_s + to_s) / 2;
    const half = ((to_s - from_s) * factor) / 2;
    this.show(middle - half, middle + half);
  }

  pan(share) {
    const step = share * (this.view.to_s - this.view.from_s);
    this.show(this.view.from_s + step, this.view.to_s + step);
  }

  // Picks an atom, or none (-1); brings it into view and among the atoms shown.
  pick(atom) {
    if (atom < 0) return this.set({ picked: -1 });
    const { atoms } = this.data;
    const time = atoms.time_s[atom];
    const { from_s, to_s } = this.view;
    this.set({ picked: atom });
    if (atoms.order[atom] > this.order) this.set({ order: atoms.order[atom] });
    if (time < from_s || time > to_s) this.show(time - (to_s - from_s) / 2, time + (to_s - from_s) / 2);
  }

  // Indices of the atoms among the first `order` of the chosen segments; with a view, of those that reach into it.
  atomsShown(view = null) {
    const { atoms } = this.data;
    const out = [];
    for (const segment of this.segments) {
      const last = segment.first + Math.min(this.order, segment.atoms);
      for (let i = segment.first; i < last; ++i) {
        const reach = 4 * atoms.duration_s[i];
        if (view && (atoms.time_s[i] + reach < view.from_s || atoms.time_s[i] - reach > view.to_s)) continue;
        out.push(i);
      }
    }
    return out;
  }
}
