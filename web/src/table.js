// The table of atoms: sorted by any column, a page of rows at a time, a row a button that picks its atom.
import { columnUnit, grouped, plural, rounded, shownUnit, timeText } from "./format.js";

const kRows = 50;
const kRowsInPrint = 200;
const kFwhm = 2.3548200450309493;

// Each column: its heading, the unit of its values, the value of atom i, and the field that has its standard error.
function columnsOf(store) {
  const { atoms, segments } = store.data;
  const unit = store.channel.unit;
  const many = store.channel.segments.length > 1;
  return [
    { key: "order", title: "Atom", value: (i) => atoms.order[i], whole: true },
    many && { key: "window", title: "Window", value: (i) => segments[atoms.segment[i]].number, whole: true },
    { key: "time_s", title: "Time", unit: "s", value: (i) => atoms.time_s[i], time: true, error: "time_s" },
    { key: "frequency_hz", title: "Frequency", unit: "Hz", value: (i) => atoms.frequency_hz[i], digits: 4, error: "frequency_hz" },
    { key: "duration_s", title: "Duration", unit: "s", value: (i) => atoms.duration_s[i], digits: 3, error: "duration_s" },
    !many && { key: "fwhm_s", title: "FWHM", unit: "s", value: (i) => kFwhm * atoms.duration_s[i], digits: 3 },
    { key: "chirp_rate_hz_per_s", title: "Chirp rate", unit: "Hz/s", value: (i) => atoms.chirp_rate_hz_per_s[i], digits: 3, error: "chirp_rate_hz_per_s" },
    { key: "peak", title: "Peak", unit, value: (i) => atoms.peak[i], digits: 3, error: "amplitude" },
    many && { key: "energy", title: "Energy", unit: unit && `${unit}²`, value: (i) => atoms.energy[i], digits: 3 },
    { key: "energy_share", title: many ? "Share" : "Energy", percent: true, value: (i) => atoms.energy_share[i], digits: 3 },
    { key: "energy_left_share", title: "Left", percent: true, value: (i) => atoms.energy_left_share[i], digits: 3 },
  ].filter(Boolean);
}

export class AtomTable {
  constructor(store) {
    this.store = store;
    this.table = document.getElementById("atoms");
    this.pages = document.getElementById("atoms-pages");
    // The strongest first: of one window that is the order in which they were found.
    this.sort = store.channel.segments.length > 1 ? { key: "energy", down: true } : { key: "order", down: false };
    this.page = 0;
    this.inView = false;
    store.subscribe((changed) => {
      if (changed.has("channel") || changed.has("segment")) this.page = 0;
      if (["channel", "segment", "order"].some((key) => changed.has(key)) || (changed.has("view") && this.inView)) this.draw();
      if (changed.has("picked")) this.showPicked(changed.has("focus"));
    });
    for (const [event, rows] of [["beforeprint", kRowsInPrint], ["afterprint", kRows]])
      addEventListener(event, () => {
        this.rows = rows;
        this.draw();
      });
    this.rows = kRows;
    this.draw();
  }

  list() {
    const { store } = this;
    const column = this.columns.find((c) => c.key === this.sort.key) ?? this.columns[0];
    const { view } = store;
    const { atoms } = store.data;
    let list = store.atomsShown();
    if (this.inView) list = list.filter((i) => atoms.time_s[i] >= view.from_s && atoms.time_s[i] <= view.to_s);
    const sign = this.sort.down ? -1 : 1;
    const values = new Map(list.map((i) => [i, column.value(i)]));
    // What is not known comes last, either way.
    return list.sort((a, b) => {
      const [x, y] = [values.get(a), values.get(b)];
      if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y) || a - b;
      return sign * (x - y) || a - b;
    });
  }

  draw() {
    const { store } = this;
    const { atoms } = store.data;
    this.columns = columnsOf(store);
    const shares = store.atomsShown().some((i) => Number.isFinite(atoms.energy_share[i]));
    if (!shares) this.columns = this.columns.filter((c) => c.key !== "energy_share");
    this.order = this.list();
    const pages = Math.max(1, Math.ceil(this.order.length / this.rows));
    this.page = Math.min(this.page, pages - 1);
    const shown = this.order.slice(this.page * this.rows, (this.page + 1) * this.rows);

    for (const column of this.columns) {
      if (column.percent) Object.assign(column, { factor: 0.01, shown: "%" });
      else if (column.whole) Object.assign(column, { factor: 1, shown: "" });
      else if (column.time) Object.assign(column, { factor: 1, shown: "s" });
      else {
        const { factor, unit } = columnUnit(this.order.map(column.value), column.unit);
        Object.assign(column, { factor, shown: unit });
      }
    }
    const head = document.createElement("thead");
    const row = head.insertRow();
    for (const column of this.columns) row.append(this.heading(column));
    const body = document.createElement("tbody");
    for (const i of shown) body.append(this.row(i));
    const focused = document.activeElement?.dataset?.sort;
    this.table.replaceChildren(this.caption(), head, body);
    if (focused) this.table.querySelector(`[data-sort="${focused}"]`)?.focus();
    this.drawPages(pages);
    this.mark();
  }

  caption() {
    const caption = document.createElement("caption");
    const column = this.columns.find((c) => c.key === this.sort.key) ?? this.columns[0];
    caption.className = "visually-hidden";
    caption.textContent = `Atoms of ${this.store.channel.name}, by ${column.title.toLowerCase()}, ${this.sort.down ? "largest" : "smallest"} first`;
    return caption;
  }

  heading(column) {
    const cell = document.createElement("th");
    cell.scope = "col";
    const sorted = column.key === this.sort.key;
    cell.setAttribute("aria-sort", sorted ? (this.sort.down ? "descending" : "ascending") : "none");
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.sort = column.key;
    button.append(column.title);
    if (column.shown) {
      const unit = document.createElement("span");
      unit.className = "unit";
      unit.textContent = shownUnit(column.shown);
      button.append(" ", unit);
    }
    button.addEventListener("click", () => {
      this.sort = { key: column.key, down: sorted ? !this.sort.down : false };
      this.page = 0;
      this.draw();
    });
    cell.append(button);
    return cell;
  }

  row(i) {
    const { atoms } = this.store.data;
    const row = document.createElement("tr");
    row.dataset.atom = i;
    for (const column of this.columns) {
      const cell = row.insertCell();
      const value = column.value(i);
      cell.dataset.field = column.key;
      if (Number.isFinite(value)) cell.dataset.value = String(value);
      if (column.key === "order") {
        const button = document.createElement("button");
        button.type = "button";
        button.className = "pick";
        button.textContent = String(value);
        button.setAttribute("aria-label", `Atom ${value}, ${timeText(atoms.time_s[i], this.store.channel.rate_hz)} s`);
        button.addEventListener("keydown", (event) => this.key(event, i));
        cell.append(button);
        continue;
      }
      cell.append(this.text(column, value));
      const error = column.error ? atoms.errors[column.error][i] / column.factor : NaN;
      if (Number.isFinite(error) && error > 0) {
        const span = document.createElement("span");
        span.className = "error";
        span.textContent = ` ±${rounded(error, 2)}`;
        cell.append(span);
      }
    }
    row.addEventListener("click", () => this.store.pick(this.store.picked === i ? -1 : i));
    return row;
  }

  text(column, value) {
    if (column.whole) return String(value);
    if (column.time) return timeText(value, this.store.channel.rate_hz);
    return rounded(value / column.factor, column.digits);
  }

  // Up and down go from row to row, and pick.
  key(event, i) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") this.store.pick(-1);
    if (!step) return;
    event.preventDefault();
    const next = this.order[this.order.indexOf(i) + step];
    if (next === undefined) return;
    this.reveal(next);
    this.button(next)?.focus();
    this.store.pick(next);
  }

  button(i) {
    return this.table.querySelector(`tr[data-atom="${i}"] .pick`);
  }

  reveal(i) {
    const at = this.order.indexOf(i);
    const page = at < 0 ? this.page : Math.floor(at / this.rows);
    if (page !== this.page) (this.page = page), this.draw();
  }

  showPicked() {
    if (this.store.picked >= 0) this.reveal(this.store.picked);
    this.mark();
  }

  mark() {
    for (const row of this.table.tBodies[0].rows) {
      const picked = Number(row.dataset.atom) === this.store.picked;
      row.classList.toggle("picked", picked);
      row.querySelector(".pick").setAttribute("aria-pressed", String(picked));
    }
  }

  drawPages(pages) {
    const first = this.page * this.rows + 1;
    const last = Math.min(this.order.length, first + this.rows - 1);
    document.getElementById("atoms-count").textContent =
      this.order.length === 0 ? "none" : pages > 1 ? `${grouped(first)} to ${grouped(last)} of ${plural(this.order.length, "atom")}` : plural(this.order.length, "atom");
    const go = (text, label, page) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.setAttribute("aria-label", label);
      button.disabled = page < 0 || page >= pages;
      button.addEventListener("click", () => {
        this.page = page;
        this.draw();
        this.pages.querySelector(`[aria-label="${label}"]:not(:disabled)`)?.focus();
      });
      return button;
    };
    const parts = [];
    if (pages > 1) {
      const text = document.createElement("span");
      text.textContent = `Page ${grouped(this.page + 1)} of ${grouped(pages)}`;
      parts.push(go("«", "First page", this.page > 0 ? 0 : -1), go("‹", "Previous page", this.page - 1), text,
        go("›", "Next page", this.page + 1), go("»", "Last page", this.page < pages - 1 ? pages - 1 : pages));
    }
    const check = document.createElement("label");
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = this.inView;
    box.addEventListener("change", () => {
      this.inView = box.checked;
      this.page = 0;
      this.draw();
      this.pages.querySelector("input").focus();
    });
    check.append(box, " Only atoms in view");
    parts.push(check);
    this.pages.replaceChildren(...parts);
  }
}
