// The report in a browser: its numbers are the result's, everything can be picked, sorted and read, and nothing is loaded.
import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { atomsOf, axe, browser, caseFile, folder, open, pictures, run, settle, writeRecording } from "./support.mjs";

let chromium;
before(async () => (chromium = await browser()));
after(() => chromium.close());

const context = (options = {}) => chromium.newContext({ viewport: { width: 1240, height: 900 }, ...options });

async function picture(page, name) {
  if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
}

async function accessible(page) {
  await page.addScriptTag({ path: axe });
  return page.evaluate(async () => {
    const found = await window.axe.run(document, { resultTypes: ["violations"] });
    return found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 120)).join(" | ")}`);
  });
}

// A result and its report of a made recording.
function made(t, { seconds = 12, channels = ["Cz", "Pz"], options = [] } = {}) {
  const at = folder(t);
  const input = writeRecording(join(at, "made.csv"), { seconds, rate_hz: 128, channels });
  const result = join(at, "made.json");
  const report = join(at, "made.html");
  run("analyze", input, "--rate", 128, "--window", 2, "--atoms", 4, ...options, "-o", result, "--report", report);
  return { input, report, result: JSON.parse(readFileSync(result, "utf8")), result_path: result, at };
}

// The shown text of a cell has the digits of the number in the file.
function assertShown(cell, value, factor) {
  assert.equal(cell.value, value);
  const shown = cell.text.split(" ±")[0].replace("\u2212", "-");
  const digits = (shown.split(/e/)[0].split(".")[1] ?? "").length;
  const last = 10 ** -digits * (shown.includes("e") ? 10 ** Number(shown.split("e")[1].replace("\u2212", "-")) : 1);
  assert.ok(Math.abs(Number(shown.replace("\u2212", "-")) - value / factor) <= 0.500001 * last, `${shown} is not ${value / factor}`);
}

test("numbers equal the result's, in every channel and window", async (t) => {
  const { report, result } = made(t);
  const c = await context();
  const { page, said } = await open(c, report);
  for (const channel of [0, 1]) {
    await page.selectOption("#channel", String(channel));
    await settle(page);
    const segments = result.segments.filter((s) => s.channel === channel);
    const wanted = segments.flatMap((s, w) => s.atoms.map((atom, i) => ({ ...atom, order: i + 1, window: w + 1 })));
    const units = await page.$$eval("#atoms th button", (all) =>
      Object.fromEntries(all.map((b) => [b.dataset.sort, b.querySelector(".unit")?.textContent ?? ""])));
    const factors = { "": 1, s: 1, ms: 1e-3, Hz: 1, "Hz/s": 1, "%": 0.01 };
    const shown = await atomsOf(page);
    assert.equal(shown.length, wanted.length);
    wanted.sort((a, b) => a.time_s - b.time_s);
    shown.forEach((row, k) => {
      for (const field of ["time_s", "frequency_hz", "duration_s", "chirp_rate_hz_per_s", "peak", "energy_share", "energy_left_share"])
        assertShown(row[field], wanted[k][field], factors[units[field]]);
      assert.equal(row.order.value, wanted[k].order);
      assert.equal(row.window.value, wanted[k].window);
    });
  }
  await page.getByLabel("Next window").click();
  await settle(page);
  assert.equal((await atomsOf(page)).length, result.segments.find((s) => s.channel === 1).atoms.length);
  const facts = (await page.textContent("#facts")).replaceAll("\u00a0", " ");
  for (const word of [result.source.sha256, result.program.version, result.program.isa, "text", "128 Hz", "after 4 atoms",
    "reached the number of atoms asked for", "not given by the file"])
    assert.ok(facts.includes(word), word);
  assert.deepEqual(said, []);
  await c.close();
});

test("the reconstruction drawn is the command's, for any number of atoms", async (t) => {
  const { report, result_path, at } = made(t, { channels: ["Cz"], options: ["--hop", 1, "--detrend", "linear"] });
  const csv = join(at, "model.csv");
  run("reconstruct", result_path, "-o", csv);
  const wanted = readFileSync(csv, "utf8").trim().split("\n").slice(1).map((line) => Number(line.split(",").at(-1)));
  const { decode } = await import("../../web/src/data.js");
  const { model } = await import("../../web/src/chirplets.js");
  const html = readFileSync(report, "utf8");
  const data = decode(JSON.parse(html.split('id="envoi-data">')[1].split("</script>")[0]));
  const [channel] = data.channels;
  const close = (a, b) => assert.ok(Math.abs(a - b) < 1e-9, `${a} ${b}`);
  model(data, channel, 99, 0, wanted.length).forEach((value, i) => close(value, wanted[i]));
  model(data, channel, 99, 300, 400).forEach((value, i) => close(value, wanted[300 + i]));
  const fewer = join(at, "fewer.json");
  const parsed = JSON.parse(readFileSync(result_path, "utf8"));
  for (const segment of parsed.segments) segment.atoms.length = 2;
  writeFileSync(fewer, JSON.stringify(parsed));
  run("reconstruct", fewer, "-o", csv);
  const two = readFileSync(csv, "utf8").trim().split("\n").slice(1).map((line) => Number(line.split(",").at(-1)));
  model(data, channel, 2, 0, two.length).forEach((value, i) => close(value, two[i]));
});

test("sorting, picking and the slider change everything that they should", async (t) => {
  const { report, result } = made(t, { channels: ["Cz"] });
  const c = await context();
  const { page, said } = await open(c, report);
  const values = async (field) => (await atomsOf(page)).map((row) => row[field].value);
  for (const field of ["frequency_hz", "peak"]) {
    await page.click(`[data-sort=${field}]`);
    const up = await values(field);
    assert.deepEqual(up, [...up].sort((a, b) => a - b));
    assert.equal(await page.getAttribute(`th:has([data-sort=${field}])`, "aria-sort"), "ascending");
    await page.click(`[data-sort=${field}]`);
    assert.deepEqual(await values(field), up.reverse());
    assert.equal(await page.getAttribute(`th:has([data-sort=${field}])`, "aria-sort"), "descending");
  }
  // By keyboard: a row's button, then the next row.
  await page.focus("#atoms tbody tr:nth-child(1) .pick");
  await page.keyboard.press("Enter");
  await settle(page);
  const first = (await atomsOf(page))[0];
  assert.ok(first.picked);
  assert.match(await page.textContent("#picked"), new RegExp(first.frequency_hz.text.split(" ")[0].slice(0, 4)));
  assert.match(await page.textContent("#announcer"), /Atom/);
  await page.keyboard.press("ArrowDown");
  await settle(page);
  assert.deepEqual((await atomsOf(page)).map((row) => row.picked).slice(0, 3), [false, true, false]);
  assert.equal(await page.getAttribute("#atoms tbody tr:nth-child(2) .pick", "aria-pressed"), "true");
  // By a click on the map, at the place of the strongest atom.
  const atoms = result.segments.flatMap((s) => s.atoms);
  const strongest = atoms.reduce((a, b) => (b.energy > a.energy ? b : a));
  await page.locator("#map-plot").scrollIntoViewIfNeeded();
  const box = await page.locator("#map-plot .u-over").boundingBox();
  const [low, high] = result.parameters.band_hz;
  const bottom = low < 0.1 * high ? 0 : low;
  const before = await page.locator("#map-plot canvas").screenshot();
  await page.mouse.click(box.x + (strongest.time_s / 12) * box.width, box.y + box.height * (1 - (strongest.frequency_hz - bottom) / (high - bottom)));
  await settle(page);
  const picked = (await atomsOf(page)).filter((row) => row.picked);
  assert.equal(picked.length, 1);
  assert.equal(picked[0].time_s.value, strongest.time_s);
  assert.notDeepEqual(await page.locator("#map-plot canvas").screenshot(), before);
  // Fewer atoms.
  await page.fill("#order", "1");
  await settle(page);
  assert.equal((await atomsOf(page)).length, result.segments.length);
  const left = result.segments.reduce((sum, s) => sum + s.energy * s.atoms[0].energy_left_share, 0);
  const energy = result.segments.reduce((sum, s) => sum + s.energy, 0);
  assert.ok((await page.textContent("#energy-note")).includes(((100 * left) / energy).toPrecision(3)));
  await page.fill("#order", "0");
  await settle(page);
  assert.equal((await atomsOf(page)).length, 0);
  assert.match(await page.textContent("#energy-note"), /100/);
  // Zoom by dragging over the signal; all plots follow, and the whole comes back.
  await page.evaluate(() => scrollTo(0, 0));
  const signal = await page.locator("#signal-plot .u-over").boundingBox();
  await page.mouse.move(signal.x + signal.width / 4, signal.y + 40);
  await page.mouse.down();
  await page.mouse.move(signal.x + signal.width / 2, signal.y + 60, { steps: 4 });
  await page.mouse.up();
  await settle(page);
  assert.match(await page.getAttribute("#map-plot", "aria-label"), /from (3|2\.9\d*|3\.0\d*).s to (6|5\.9\d*|6\.0\d*).s/);
  await page.getByLabel("Whole recording").click();
  await settle(page);
  assert.match(await page.getAttribute("#map-plot", "aria-label"), /from 0.s to 12.s/);
  assert.deepEqual(said, []);
  await c.close();
});

test("a recording in light, in the dark, narrow and on paper", async (t) => {
  const at = folder(t);
  const n2 = caseFile("eeg/n2_spindles_200Hz.txt");
  const input = n2 ?? writeRecording(join(at, "made.csv"), { seconds: 15, rate_hz: 200, channels: ["1"] });
  const report = join(at, "report.html");
  run("analyze", input, "--rate", 200, "--band", "0.5:40", "--window", "whole", "--atoms", 15, "--report", report);
  const backgrounds = {};
  for (const [name, options] of Object.entries({
    light: { colorScheme: "light" }, dark: { colorScheme: "dark" },
    narrow: { colorScheme: "light", viewport: { width: 390, height: 800 } },
  })) {
    const c = await context(options);
    const { page, said } = await open(c, report);
    await page.locator("#atoms .pick").nth(7).click();
    await settle(page);
    await picture(page, `report-${name}`);
    backgrounds[name] = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name} scrolls sideways`);
    assert.deepEqual(await accessible(page), [], name);
    assert.deepEqual(said, []);
    if (name !== "narrow") {
      // What a browser does when a page is printed: the plots fit the paper and take light colours, and come back.
      const widths = () => page.$$eval(".plot .uplot", (all) => all.map((u) => u.clientWidth));
      const ink = () => page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue("--ink").trim());
      const before = [await widths(), await ink()];
      await page.evaluate(() => void dispatchEvent(new Event("beforeprint")));
      await settle(page);
      assert.ok((await widths()).every((w) => w > 200 && w <= 680), String(await widths()));
      assert.equal(await ink(), "#1d2126");
      await page.evaluate(() => void dispatchEvent(new Event("afterprint")));
      await settle(page);
      assert.deepEqual([await widths(), await ink()], before);
    }
    if (name === "light") {
      const pdf = await page.pdf({ preferCSSPageSize: true, path: pictures ? join(pictures, "report.pdf") : undefined });
      assert.ok(pdf.length > 20000);
      await page.emulateMedia({ media: "print" });
      await settle(page);
      assert.equal(await page.locator(".controls").isVisible(), false);
      assert.equal(await page.locator("#atoms tbody tr").count(), 15);
      await picture(page, "report-print");
    }
    await c.close();
  }
  assert.notEqual(backgrounds.light, backgrounds.dark);
});

test("five minutes of four channels stay under 2 MB", async (t) => {
  const at = folder(t);
  const channels = ["Fp1", "Fp2", "O1", "O2"];
  const input = writeRecording(join(at, "long.csv"), { seconds: 300, rate_hz: 256, channels });
  const report = join(at, "long.html");
  // As many atoms as the default takes at most, of a small grid.
  run("analyze", input, "--rate", 256, "--window", 2, "--atoms", 10, "--band", "4:16", "--durations", "0.1:0.3", "--gabor",
    "--report", report);
  assert.ok(statSync(report).size < 2e6, `${statSync(report).size} bytes`);
  const c = await context();
  const { page, said } = await open(c, report);
  assert.match(await page.textContent("#atoms-count"), /1 to 50 of 1.500 atoms/);
  await page.getByLabel("Last page").click();
  assert.equal((await atomsOf(page)).length, 50);
  assert.deepEqual(said, []);
  await picture(page, "report-five-minutes");
  await c.close();
});

test("two hours are drawn from least and largest, which hold every sample", async (t) => {
  const at = folder(t);
  const rate = 512;
  const samples = Float32Array.from({ length: 2 * 3600 * rate }, (_, n) => 10 * Math.sin(n * 0.37) + ((n * 7919) % 1000) / 100);
  samples[3e6] = 80;
  const input = join(at, "long.f32");
  writeFileSync(input, Buffer.from(samples.buffer));
  const report = join(at, "long.html");
  run("analyze", input, "--rate", rate, "--window", 20, "--atoms", 1, "--band", "20:40", "--durations", "0.1:0.3", "--max-loss", 0.5,
    "--gabor", "--no-refine", "--report", report);
  assert.ok(statSync(report).size < 8.1e6);
  const { decode } = await import("../../web/src/data.js");
  const data = decode(JSON.parse(readFileSync(report, "utf8").split('id="envoi-data">')[1].split("</script>")[0]));
  const { signal } = data.channels[0];
  assert.ok(signal.per_bin > 1);
  assert.equal(signal.values.length, 2 * Math.ceil(samples.length / signal.per_bin));
  samples.forEach((value, n) => {
    const bin = 2 * Math.floor(n / signal.per_bin);
    if (!(signal.values[bin] - signal.scale <= value && value <= signal.values[bin + 1] + signal.scale))
      assert.fail(`sample ${n}, ${value}, is not within ${signal.values[bin]} to ${signal.values[bin + 1]}`);
  });
  const c = await context();
  const { page, said } = await open(c, report);
  assert.match(await page.textContent("#signal-note"), /least and largest of every \d+ samples/);
  for (let i = 0; i < 10; ++i) {
    await page.getByLabel("Zoom in").click();
    await settle(page);
  }
  assert.match(await page.textContent("#signal-note"), /least and largest of every \d+ samples/);
  assert.deepEqual(said, []);
  await picture(page, "report-two-hours");
  await c.close();
});

test("text of a file cannot become part of the page", async (t) => {
  const { result_path, at } = made(t, { channels: ["Cz"] });
  const evil = JSON.parse(readFileSync(result_path, "utf8"));
  evil.source.name = "</script><script>document.title = 'taken'</script><!--<script>";
  evil.warnings = ["<img src=x onerror=\"document.title='taken'\"> & \u2028"];
  const path = join(at, "evil.json");
  writeFileSync(path, JSON.stringify(evil));
  const report = join(at, "evil.html");
  run("plot", path, "-o", report);
  const c = await context();
  const { page, said } = await open(c, report);
  assert.equal(await page.title(), `${evil.source.name} – Envoi`);
  assert.equal(await page.textContent("h1"), evil.source.name);
  assert.equal(await page.textContent(".warnings li"), evil.warnings[0]);
  assert.match(await page.textContent("#signal-note"), /holds no samples/);
  assert.deepEqual(said, []);
  await c.close();
});
