// Energy left against the number of atoms, with the number that is shown and the atom that is picked.
import { energyLeft } from "./chirplets.js";
import { percent, plural } from "./format.js";
import { CountPlot } from "./plot.js";
import { theme } from "./theme.js";

const kMostPoints = 600;

export class EnergyPanel {
  constructor(store) {
    this.store = store;
    this.panel = new CountPlot(document.getElementById("energy-plot"), {
      height: () => 250,
      xLabel: () => (store.segments.length > 1 ? "Atoms in each window" : "Atoms"),
      yLabel: "Energy left (%)",
      series: [{ stroke: () => theme.model, width: 2, points: { show: () => store.mostAtoms <= 60, size: 6, fill: () => theme.model } }],
      xRange: () => [0, Math.max(store.mostAtoms, 1) * 1.02],
      yRange: () => [0, 100],
      hooks: { draw: [(u) => this.marks(u)] },
      onClick: (count) => store.set({ order: Math.min(Math.max(Math.round(count), 0), store.mostAtoms) }),
    });
    store.subscribe((changed) => {
      if (["channel", "segment"].some((key) => changed.has(key))) this.draw();
      else if (changed.has("order") || changed.has("picked")) this.panel.plot.redraw(false, false), this.describe();
    });
    this.draw();
  }

  draw() {
    const { store } = this;
    const step = Math.max(1, Math.ceil(store.mostAtoms / kMostPoints));
    const counts = [];
    for (let k = 0; k < store.mostAtoms; k += step) counts.push(k);
    counts.push(store.mostAtoms);
    this.panel.plot.setData([counts, counts.map((k) => 100 * energyLeft(store.data, store.segments, k))]);
    this.describe();
  }

  marks(u) {
    const { store } = this;
    const { ctx } = u;
    const scale = devicePixelRatio;
    const dot = (count, colour, radius) => {
      const y = u.valToPos(100 * energyLeft(store.data, store.segments, count), "y", true);
      const x = u.valToPos(count, "x", true);
      ctx.beginPath();
      ctx.arc(x, y, radius * scale, 0, 2 * Math.PI);
      ctx.fillStyle = colour;
      ctx.fill();
      ctx.lineWidth = 2 * scale;
      ctx.strokeStyle = theme.paper;
      ctx.stroke();
    };
    const picked = store.picked;
    dot(Math.min(store.order, store.mostAtoms), theme.ink, 6);
    if (picked >= 0) dot(store.data.atoms.order[picked], theme.picked, 6);
  }

  describe() {
    const { store } = this;
    const left = energyLeft(store.data, store.segments, store.order);
    const what = store.segments.length > 1 ? `the first ${plural(store.order, "atom")} of each window` : plural(store.order, "atom");
    const text = `After ${what}: ${percent(left)} left, ${percent(1 - left)} explained.`;
    document.getElementById("energy-note").textContent = text;
    this.panel.element.setAttribute("aria-label", `Energy left against number of atoms. ${text}`);
  }
}
