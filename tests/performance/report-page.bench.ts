/** The page of a run: how long `mrm-trace report` makes it and with how much memory, and how soon a browser shows and zooms it. */
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { aside, atMost, type BenchOptions, type BenchRow, median } from "./bench-row.ts";

const LAUNCHER = new URL("../../bin/mrm-trace", import.meta.url).pathname;
const REPEATS = 5;
/** Rows of the trace, the most seconds for its page, and the most memory where there is a limit. */
const RUNS = [
  { rows: 10_000, most_s: 1, most_bytes: 150 * 2 ** 20 },
  { rows: 10_000_000, most_s: 5, most_bytes: null },
] as const;
const MOST_PAGE_BYTES = 3e6;
const MOST_PAINT_MS = 1000;
const MOST_ZOOM_MS = 100;

interface Made {
  readonly wall_s: number;
  readonly cpu_s: number;
  readonly peak_bytes: number;
}

/** In a process of its own: the memory of whoever starts the command would count as the command's. */
async function made(runDir: string, page: string): Promise<Made> {
  const child = Bun.spawn([process.execPath, import.meta.path, "make", runDir, page], { stdout: "pipe" });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`the page of ${runDir} was not made`);
  return JSON.parse(text) as Made;
}

async function makeHere(runDir: string, page: string): Promise<Made> {
  const begin = performance.now();
  const child = Bun.spawn([LAUNCHER, "report", runDir, "--out", page, "--force"], {
    stdout: "ignore",
    stderr: "inherit",
  });
  if ((await child.exited) !== 0) throw new Error(`the page of ${runDir} was not made`);
  const wall_s = (performance.now() - begin) / 1e3;
  const usage = child.resourceUsage();
  return { wall_s, cpu_s: Number(usage?.cpuTime.total ?? 0n) / 1e6, peak_bytes: usage?.maxRSS ?? Number.NaN };
}

/** From a key to the frame that shows the zoomed map, in ms; in and out again. Text: it runs in the browser. */
const ZOOMS = `(async () => {
  const canvas = document.querySelector("canvas");
  const taken = [];
  for (const key of "+++++-----") {
    const before = canvas.dataset.view;
    const begin = performance.now();
    canvas.dispatchEvent(new KeyboardEvent("keydown", { key }));
    while (canvas.dataset.view === before) await new Promise(requestAnimationFrame);
    taken.push(performance.now() - begin);
  }
  return taken;
})()`;

const TIMES = `({
  paint: performance.getEntriesByName("first-contentful-paint")[0].startTime,
  drawn: performance.getEntriesByName("drawn")[0].startTime,
})`;

interface Load {
  readonly paint: number;
  readonly drawn: number;
}

async function shown(file: string, what: string): Promise<BenchRow[]> {
  const { noBrowser, startBrowser } = await import("../fixtures/browser.ts");
  if (noBrowser !== null) return [];
  await using browser = await startBrowser();
  const loads: Load[] = [];
  for (let i = 0; i < REPEATS; i++) {
    await using opened = await browser.open(file);
    loads.push(await opened.page.evaluate<Load>(TIMES));
  }
  await using opened = await browser.open(file);
  const zoomed = await opened.page.evaluate<number[]>(ZOOMS);
  return [
    atMost(`${what}: first paint`, median(loads.map(({ paint }) => paint)), "ms", MOST_PAINT_MS),
    aside(`${what}: all drawn`, median(loads.map(({ drawn }) => drawn)), "ms"),
    atMost(
      `${what}: a zoom of the map`,
      median(zoomed),
      "ms",
      MOST_ZOOM_MS,
      `at most ${Math.max(...zoomed).toFixed(0)} ms`,
    ),
  ];
}

/** Takes half a minute, and 100 MB below the temporary folder. */
export async function benchReportPage({ quick }: BenchOptions): Promise<BenchRow[]> {
  const { writeLargePageRun } = await import("./large-page-run.ts");
  const out: BenchRow[] = [];
  for (const { rows, most_s, most_bytes } of quick ? RUNS.slice(0, 1) : RUNS) {
    const what = `page of ${rows.toLocaleString("en")} rows`;
    const runDir = await writeLargePageRun(rows);
    const page = join(runDir, "made.html");
    try {
      const all: Made[] = [];
      for (let i = 0; i < (quick ? 1 : REPEATS); i++) all.push(await made(runDir, page));
      const peak = Math.max(...all.map(({ peak_bytes }) => peak_bytes));
      out.push(
        atMost(`${what}: made`, median(all.map(({ wall_s }) => wall_s)), "s", most_s),
        aside(`${what}: CPU time`, median(all.map(({ cpu_s }) => cpu_s)), "s"),
        most_bytes === null
          ? aside(`${what}: most memory`, peak, "bytes")
          : atMost(`${what}: most memory`, peak, "bytes", most_bytes),
        atMost(`${what}: size`, statSync(page).size, "bytes", MOST_PAGE_BYTES),
        ...(await shown(page, what)),
      );
    } finally {
      rmSync(runDir, { recursive: true, force: true });
    }
  }
  return out;
}

if (import.meta.main) {
  const [part, runDir = "", page = ""] = process.argv.slice(2);
  const rows = part === "make" ? await makeHere(runDir, page) : await benchReportPage({ blocks: 0, quick: false });
  process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
}
