// The choices above the plots: channel, window, how many atoms, and the stretch of time.
import { fromToText, grouped, plural, spanText, timeText } from "./format.js";

function button(text, label, act) {
  const element = document.createElement("button");
  element.type = "button";
  element.textContent = text;
  element.setAttribute("aria-label", label);
  element.addEventListener("click", act);
  return element;
}

function labelled(text, ...parts) {
  const label = document.createElement("label");
  const name = document.createElement("span");
  name.className = "control-name";
  name.textContent = text;
  label.append(name, ...parts);
  return label;
}

export class Controls {
  constructor(store) {
    this.store = store;
    this.build();
    store.subscribe(() => this.update());
    this.update();
  }

  build() {
    const { store } = this;
    const choice = document.getElementById("controls-choice");
    if (store.data.channels.length > 1) {
      this.channel = document.createElement("select");
      this.channel.id = "channel";
      for (const channel of store.data.channels) this.channel.add(new Option(channel.name, channel.index));
      this.channel.addEventListener("change", () => store.chooseChannel(store.data.channels[Number(this.channel.value)]));
      choice.append(labelled("Channel", this.channel));
    }
    this.windows = document.createElement("div");
    this.windows.className = "group";
    this.number = document.createElement("input");
    this.number.type = "number";
    this.number.id = "window";
    this.number.min = 1;
    this.number.placeholder = "all";
    this.number.addEventListener("change", () => this.chooseWindow(Number(this.number.value)));
    this.windowCount = document.createElement("span");
    this.windowEvent = document.createElement("span");
    this.windowEvent.className = "muted";
    this.windows.append(
      labelled("Window", this.number),
      this.windowCount,
      button("‹", "Previous window", () => this.chooseWindow((store.segment?.number ?? 2) - 1)),
      button("›", "Next window", () => this.chooseWindow((store.segment?.number ?? 0) + 1)),
      button("All", "All windows", () => store.chooseSegment(null)),
      this.windowEvent,
    );
    choice.append(this.windows);
    this.slider = document.createElement("input");
    this.slider.type = "range";
    this.slider.id = "order";
    this.slider.min = 0;
    this.slider.addEventListener("input", () => store.set({ order: Number(this.slider.value) }));
    this.sliderText = document.createElement("output");
    this.sliderText.htmlFor = "order";
    const label = labelled("Atoms", this.slider);
    label.classList.add("wide");
    const group = document.createElement("div");
    group.className = "group order";
    group.append(label, this.sliderText);
    choice.append(group);

    const view = document.getElementById("controls-view");
    const buttons = document.createElement("div");
    buttons.className = "group";
    buttons.append(
      button("◂", "Earlier", () => store.pan(-0.5)),
      button("▸", "Later", () => store.pan(0.5)),
      button("+", "Zoom in", () => store.zoom(0.5)),
      button("−", "Zoom out", () => store.zoom(2)),
      button("Whole", "Whole recording", () => store.show(store.extent.from_s, store.extent.to_s)),
    );
    const atoms = document.createElement("div");
    atoms.className = "group";
    atoms.append(
      button("Previous atom", "Previous atom in time", () => this.step(-1)),
      button("Next atom", "Next atom in time", () => this.step(1)),
      button("None", "Pick no atom", () => store.pick(-1)),
    );
    this.viewText = document.createElement("span");
    this.viewText.className = "muted";
    view.append(buttons, atoms, this.viewText);
  }

  chooseWindow(number) {
    const { segments } = this.store.channel;
    this.store.chooseSegment(number >= 1 ? segments[Math.min(number, segments.length) - 1] : null);
  }

  // Picks the atom before or after the picked one in time; without one, the first in view.
  step(direction) {
    const { store } = this;
    const { time_s } = store.data.atoms;
    const list = store.atomsShown().sort((a, b) => time_s[a] - time_s[b] || a - b);
    const at = list.indexOf(store.picked);
    const start = list.findIndex((i) => time_s[i] >= store.view.from_s);
    const next = at >= 0 ? list[at + direction] : list[Math.max(start, 0)];
    if (next !== undefined) store.pick(next);
  }

  update() {
    const { store } = this;
    const { channel, segment, order } = store;
    if (this.channel) this.channel.value = channel.index;
    this.windows.hidden = channel.segments.length < 2;
    this.number.max = channel.segments.length;
    this.number.value = segment ? segment.number : "";
    this.windowCount.textContent = `of ${grouped(channel.segments.length)}`;
    const most = store.mostAtoms;
    this.slider.max = most;
    this.slider.value = order;
    const many = store.segments.length > 1;
    const shown = Math.min(order, most);
    const all = many ? `all, up to ${grouped(most)} a window` : `all ${grouped(most)}`;
    const some = many ? `first ${grouped(shown)} of each window, of up to ${grouped(most)}` : `first ${grouped(shown)} of ${grouped(most)}`;
    this.sliderText.textContent = order >= most ? all : some;
    this.slider.setAttribute("aria-valuetext", `first ${plural(shown, "atom")}${many ? " of each window" : ""}`);
    const { from_s, to_s } = store.view;
    const event = segment?.event;
    this.windowEvent.textContent = event ? `“${event.text}” at ${timeText(event.time_s, segment.rate_hz)}\u00a0s` : "";
    this.viewText.textContent = `${fromToText(from_s, to_s)}, ${spanText(to_s - from_s)}`;
  }
}
