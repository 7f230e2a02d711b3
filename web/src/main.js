// The page: data in, panels up, one store between them.
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { Controls } from "./controls.js";
import { decode } from "./data.js";
import { EnergyPanel } from "./energy.js";
import { Facts, fillHead } from "./facts.js";
import { MapPanel } from "./map.js";
import { PickedPanel } from "./picked.js";
import { SignalPanel } from "./signal.js";
import { Store } from "./store.js";
import { AtomTable } from "./table.js";
import { onThemeChange, readTheme } from "./theme.js";

const data = decode(JSON.parse(document.getElementById("envoi-data").textContent));
fillHead(data);
if (data.channels.length > 0) {
  readTheme();
  const store = new Store(data);
  new Controls(store);
  const signal = new SignalPanel(store);
  const map = new MapPanel(store);
  const energy = new EnergyPanel(store);
  new PickedPanel(store);
  new AtomTable(store);
  new Facts(store);
  onThemeChange(() => {
    for (const plot of [signal.signal, signal.residual, map.plot]) plot.redraw();
    energy.panel.plot.redraw(false, true);
  });
  // A browser lays the page out for paper without telling those who watch its sizes.
  const print = (on) => {
    document.documentElement.classList.toggle("printing", on);
    readTheme();
    for (const plot of [signal.signal, signal.residual, map.plot, energy.panel]) {
      plot.resize(plot.element.clientWidth);
      plot.refresh?.();
    }
  };
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
}
document.documentElement.dataset.ready = "yes";
