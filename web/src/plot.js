// What all plots share: uPlot with our axes, a time axis in a unit that suits the view, and zoom by dragging.
import uPlot from "uplot";
import { axisPower, raised } from "./format.js";
import { theme } from "./theme.js";
import { tickTexts, valueTicks } from "./ticks.js";

const kNarrow = 560;
const kTimeAxis = 48; // its ticks and label
const kTimeTicks = 26; // its ticks alone
const kAboveAxis = 8;
const kDays = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400];

// The unit of the time axis, and where it counts from: long times (GPS, say) count from a whole second.
export function timeAxis(store) {
  const { from_s, to_s } = store.view;
  const whole = store.extent;
  const span = to_s - from_s;
  const far = Math.abs(whole.from_s) > 1e4 && Math.abs(whole.from_s) > 20 * (whole.to_s - whole.from_s);
  const origin_s = far ? Math.floor(whole.from_s) : 0;
  const unit = span < 2e-3 ? ["µs", 1e-6] : span < 2 && !far && to_s < 10 ? ["ms", 1e-3] : span > 900 ? ["min", 60] : ["s", 1];
  const since = far ? ` after ${origin_s} s` : "";
  return { origin_s, factor: unit[1], label: `Time${since} (${unit[0]})` };
}

function axis(more) {
  return {
    stroke: () => theme.muted,
    font: theme.font,
    labelFont: theme.font,
    labelGap: 2,
    grid: { stroke: () => theme.grid, width: 1 },
    ticks: { stroke: () => theme.grid, width: 1, size: 5 },
    ...more,
  };
}

export const leftGutter = (width) => (width < kNarrow ? 50 : 68);
export const rightGutter = (width) => (width < kNarrow ? 50 : 78);

// Height below a plot's inside: for times "full" with a label, "ticks" alone.
export const belowPlot = (times) => (times === "full" ? kTimeAxis : kTimeTicks);

// A plot over time in `element`. `options` hold height(width), the series and their y scale, and hooks.
export class TimePlot {
  constructor(element, store, { height, series, bands = [], y, yLabel, times = "full", powers = true, hooks = {}, onClick }) {
    this.element = element;
    this.store = store;
    this.height = height;
    const width = element.clientWidth;
    let dragged = false;
    this.plot = new uPlot(
      {
        width,
        height: height(width),
        pxAlign: 0,
        legend: { show: false },
        padding: [kAboveAxis, (u) => rightGutter(u.width ?? width), 0, 0],
        cursor: {
          sync: { key: "time", setSeries: false, scales: ["x", null] },
          drag: { x: true, y: false, setScale: false, dist: 6 },
          points: { show: false },
          y: false,
        },
        scales: {
          x: { time: false, range: () => [store.view.from_s, store.view.to_s] },
          y: { range: y },
        },
        series: [{}, ...series],
        bands,
        axes: [
          axis({
            show: true,
            size: times === "full" ? kTimeAxis - 18 : kTimeTicks,
            labelSize: 18,
            label: times === "full" ? () => timeAxis(store).label : undefined,
            values: (u, splits) => {
              const { origin_s, factor } = timeAxis(store);
              return tickTexts(splits, factor, origin_s);
            },
            incrs: store.extent.to_s - store.extent.from_s > 900 ? [0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, ...kDays] : undefined,
          }),
          axis({
            label: (u) => {
              const power = powers ? axisPower(...y()) : 0;
              return power ? `${yLabel()} (×10${raised(power)})` : yLabel();
            },
            labelSize: 18,
            size: (u) => leftGutter(u.width) - 18,
            values: (u, splits) => tickTexts(splits, powers ? 10 ** axisPower(...y()) : 1),
            space: 32,
            splits: (u, axisIndex, low, high) => valueTicks(low, high, u.bbox.height / devicePixelRatio),
          }),
        ],
        hooks: {
          ...hooks,
          setSelect: [
            (u) => {
              if (u.select.width < 6) return;
              dragged = true;
              const from = u.posToVal(u.select.left, "x");
              const to = u.posToVal(u.select.left + u.select.width, "x");
              u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
              store.show(from, to);
            },
          ],
        },
      },
      [[], ...series.map(() => [])],
      element,
    );
    this.plot.over.addEventListener("mousedown", () => (dragged = false));
    this.plot.over.addEventListener("dblclick", () => store.show(store.extent.from_s, store.extent.to_s));
    if (onClick)
      this.plot.over.addEventListener("click", (event) => {
        if (!dragged) onClick(this.plot.posToVal(event.offsetX, "x"), this.plot.posToVal(event.offsetY, "y"));
      });
    onResize(element, this);
  }

  // Width and height of what lies inside the axes, known before uPlot has laid them out.
  get pixels() {
    const width = this.element.clientWidth;
    return Math.max(width - leftGutter(width) - rightGutter(width), 50);
  }
  get rows() {
    return Math.max(this.height(this.element.clientWidth) - kAboveAxis - kTimeAxis, 50);
  }

  resize(width) {
    this.plot.setSize({ width, height: this.height(width) });
  }

  draw(data) {
    this.plot.setData(data, true);
  }

  redraw() {
    this.plot.redraw(false, true);
  }
}

// Calls plot.resize(width), then plot.refresh() if it has one, when the element's width changes.
export function onResize(element, plot) {
  let before = element.clientWidth;
  new ResizeObserver(() => {
    const width = element.clientWidth;
    if (width === before || width === 0) return;
    before = width;
    plot.resize(width);
    plot.refresh?.();
  }).observe(element);
}

// A plot of y over a count, for the energy that is left.
export class CountPlot {
  constructor(element, { height, xLabel, yLabel, series, xRange, yRange, hooks, onClick }) {
    this.element = element;
    this.height = height;
    const width = element.clientWidth;
    this.plot = new uPlot(
      {
        width,
        height: height(width),
        pxAlign: 0,
        legend: { show: false },
        padding: [10, 14, 0, 0],
        cursor: { drag: { x: false, y: false, setScale: false }, y: false, points: { show: false } },
        scales: { x: { time: false, range: xRange }, y: { range: yRange } },
        series: [{}, ...series],
        axes: [
          axis({ label: xLabel, labelSize: 18, size: kTimeAxis - 18, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5],
            values: (u, splits) => splits.map((v) => String(v)) }),
          axis({ label: yLabel, labelSize: 18, size: (u) => leftGutter(u.width) - 18, space: 32, values: (u, splits) => tickTexts(splits) }),
        ],
        hooks,
      },
      [[], ...series.map(() => [])],
      element,
    );
    this.plot.over.addEventListener("click", (event) => onClick(this.plot.posToVal(event.offsetX, "x")));
    onResize(element, this);
  }

  resize(width) {
    this.plot.setSize({ width, height: this.height(width) });
  }
}
