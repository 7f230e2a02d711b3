// What the tests of the report share: the built command, Chromium, made recordings.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync, existsSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const required = (name) => {
  if (!process.env[name]) throw new Error(`${name} is not set; ./dev check sets it`);
  return process.env[name];
};
export const envoi = required("ENVOI_BIN");
const modules = createRequire(join(required("ENVOI_WEB_MODULES"), "package.json")); // where npm ci was run
export const axe = modules.resolve("axe-core/axe.min.js");
export const pictures = process.env.ENVOI_PICTURES; // a folder for screenshots, if wanted

export const run = (...args) => execFileSync(envoi, args.map(String), { encoding: "utf8", maxBuffer: 1 << 28 });

export function folder(t) {
  const path = mkdtempSync(join(tmpdir(), "envoi-report-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

export function caseFile(name) {
  const path = join(process.env.ENVOI_CASES ?? new URL("../../../shared/cases", import.meta.url).pathname, name);
  return existsSync(path) ? path : null;
}

// Numbers between -1 and 1, the same on every run.
function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  };
}

// A text file of channels with bursts, one every 2 s, in noise.
export function writeRecording(path, { seconds, rate_hz, channels, seed = 1 }) {
  const random = randomNumbers(seed);
  const lines = [channels.join(",")];
  for (let n = 0; n < seconds * rate_hz; ++n) {
    const t = n / rate_hz;
    const u = (t % 2) - 1;
    const row = channels.map((_, c) => {
      const burst = 20 * Math.exp((-u * u) / 0.08) * Math.cos(2 * Math.PI * ((8 + 2 * c) * u + 3 * u * u));
      return (burst + 4 * (random() + random() + random())).toFixed(3);
    });
    lines.push(row.join(","));
  }
  writeFileSync(path, lines.join("\n") + "\n");
  return path;
}

export async function browser() {
  const { chromium } = modules("playwright-core");
  return chromium.launch({
    executablePath: process.env.ENVOI_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
      "--disable-sync", "--no-first-run", "--disable-default-apps"],
  });
}

// Opens a report; `said` collects what the console says and which addresses are asked for.
export async function open(context, path) {
  const page = await context.newPage();
  const said = [];
  page.on("console", (message) => said.push(`console ${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => said.push(`error: ${error.stack}`));
  page.on("request", (request) => {
    if (!request.url().startsWith("file:") && !request.url().startsWith("data:")) said.push(`request: ${request.url()}`);
  });
  await page.goto(pathToFileURL(path).href);
  await page.waitForSelector("html[data-ready=yes]");
  await settle(page);
  return { page, said };
}

// Two frames: what was asked for in the first is drawn in the second.
export const settle = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

export const atomsOf = (page) =>
  page.$$eval("#atoms tbody tr", (rows) =>
    rows.map((row) => ({
      picked: row.classList.contains("picked"),
      ...Object.fromEntries([...row.cells].map((c) => [c.dataset.field, { value: Number(c.dataset.value), text: c.textContent }])),
    })));
