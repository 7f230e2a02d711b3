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
    wanted.sort((a, b) => b.energy - a.energy);
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
  // At first the strongest atom is on top.
  const energies = await values("energy");
  assert.deepEqual(energies, [...energies].sort((a, b) => b - a));
  assert.match(await page.textContent("#controls-choice output"), /^all, up to 4 a window$/);
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

test("every axis of values has two ticks at least, however small or large the numbers", async () => {
  const { tickTexts, valueTicks } = await import("../../web/src/ticks.js");
  const { axisPower, fromToText } = await import("../../web/src/format.js");
  for (const height of [60, 90, 126, 230])
    for (let k = 0; k < 400; ++k) {
      const span = 10 ** (k / 8 - 25);
      for (const low of [-span / 2, -span / 3, 0, 0.7 * span]) {
        const ticks = valueTicks(low, low + span, height);
        const texts = tickTexts(ticks, 10 ** axisPower(low, low + span));
        assert.ok(ticks.length >= 2, `${low} + ${span}: ${ticks}`);
        assert.ok(ticks.every((v) => v >= low - 1e-6 * span && v <= low + span * 1.000001), String(ticks));
        assert.equal(new Set(texts).size, texts.length, `${ticks}: ${texts}`);
        assert.ok(texts.every((text) => text.length <= 7), String(texts));
      }
    }
  assert.equal(fromToText(0, 15).replaceAll("\u00a0", " "), "0 s to 15 s");
  assert.equal(fromToText(1126259462.1, 1126259462.3102).replaceAll("\u00a0", " "), "1126259462.1 s to 1126259462.31 s");
});

test("strain of 1e-21 is drawn like microvolts", async (t) => {
  const at = folder(t);
  const lines = Array.from({ length: 512 }, (_, n) => {
    const u = n / 128 - 2;
    return (Math.exp(-u * u * 4) * Math.cos(2 * Math.PI * (20 * u + 3 * u * u))).toExponential(9);
  });
  const shown = [];
  for (const exponent of ["0", "-21"]) {
    const input = join(at, "strain.txt");
    const report = join(at, `strain${exponent}.html`);
    writeFileSync(input, lines.map((line) => line.replace(/e(.*)/, (_, e) => `e${Number(e) + Number(exponent)}`)).join("\n") + "\n");
    run("analyze", input, "--rate", 128, "--window", "whole", "--atoms", 2, "--report", report);
    const c = await context();
    const { page, said } = await open(c, report);
    shown.push(await page.evaluate(() => {
      const canvas = document.querySelector("#map-plot canvas");
      const { width, height } = canvas;
      return [...canvas.getContext("2d").getImageData(width / 4, height / 8, width / 2, height / 2).data];
    }));
    assert.match(await page.getAttribute("#map-plot", "aria-label"), exponent === "0" ? /density \u2212?\d+(\.\d+)? dB/ : /density \u22124\d\d dB/);
    assert.deepEqual(said, []);
    await c.close();
  }
  const other = shown[0].filter((value, i) => Math.abs(value - shown[1][i]) > 8).length;
  assert.ok(other < 0.005 * shown[0].length, `${other} of ${shown[0].length} differ`);
});

test("windows about events are named by them, and their labels find room", async (t) => {
  const at = folder(t);
  const rate = 250;
  const samples = Float32Array.from({ length: 20 * rate }, (_, n) => 20 * Math.sin(n * n * 1e-3) + ((n * 7919) % 100) / 20);
  writeFileSync(join(at, "made.eeg"), Buffer.from(samples.buffer));
  writeFileSync(join(at, "made.vhdr"), ["Brain Vision Data Exchange Header File Version 1.0", "[Common Infos]", "Codepage=UTF-8",
    "DataFile=made.eeg", "MarkerFile=made.vmrk", "DataFormat=BINARY", "DataOrientation=MULTIPLEXED", "NumberOfChannels=1",
    `SamplingInterval=${1e6 / rate}`, "[Binary Infos]", "BinaryFormat=IEEE_FLOAT_32", "[Channel Infos]", "Ch1=Cz,,1,µV", ""].join("\n"));
  // Beside each event that is asked for another, 12 ms earlier.
  const marks = [3, 8, 13].flatMap((time) => [["Comment,other", time * rate - 3], ["Stimulus,S 1", time * rate]]);
  writeFileSync(join(at, "made.vmrk"), ["Brain Vision Data Exchange Marker File, Version 1.0", "[Common Infos]", "Codepage=UTF-8",
    "DataFile=made.eeg", "[Marker Infos]", ...marks.map(([what, place], i) => `Mk${i + 1}=${what},${place + 1},1,0`), ""].join("\n"));
  const report = join(at, "events.html");
  run("analyze", join(at, "made.vhdr"), "--events", "Stim*", "--before", 0.4, "--after", 0.6, "--atoms", 3, "--report", report);
  const c = await context();
  await c.addInitScript(() => {
    window.written = [];
    const draw = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
      window.written.push(text);
      draw.call(this, text, ...place);
    };
  });
  const { page, said } = await open(c, report);
  const written = await page.evaluate(() => window.written.filter((text) => text.startsWith("Stim") || text === "Comment/other"));
  assert.ok(written.length >= 3 && written.every((text) => text.startsWith("Stimulus/S")), String(written));
  const text = async (selector) => (await page.textContent(selector)).replaceAll("\u00a0", " ");
  assert.match(await text("#summary"), /^3 windows of 1 s around “Stim\*” in channel Cz at 250 Hz: \d+ chirplets that explain .* of their energy/);
  await page.getByLabel("Next window").click();
  await settle(page);
  assert.match(await text("#controls-choice"), /“Stimulus\/S *1” at 3\.000 s/);
  await page.getByLabel("Next atom").click();
  await settle(page);
  assert.match(await text("#picked-heading"), /Atom \d, window 1, “Stimulus\/S *1” at 3\.000 s/);
  assert.deepEqual(said, []);
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
