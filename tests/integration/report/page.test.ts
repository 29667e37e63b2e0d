import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { presetBorders } from "../../../src/report/page/data/device-borders.ts";
import { pageOf } from "../../../src/report/page/page.ts";
import { type Browser, noBrowser, startBrowser } from "../../fixtures/browser.ts";
import { HOSTILE, pageRequests, writePageRun } from "../../fixtures/page-run.ts";
import { demoReport } from "../../fixtures/run-report.ts";

setDefaultTimeout(120_000);
if (noBrowser !== null) process.stderr.write(`the page is not looked at in a browser: ${noBrowser}\n`);

const AXE = readFileSync(new URL("../../../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const WIDTHS = [360, 800, 1440];

const { target, metrics } = demoReport();
const run = writePageRun({
  target: { ...target, command: ["python3", HOSTILE] },
  warnings: [HOSTILE],
  model_id: HOSTILE,
  metrics: metrics.map((row) => ({ ...row, why: row.why === null ? null : `${row.why} ${HOSTILE}` })),
});
const other = writePageRun({ model_id: "another" }, pageRequests());
const one = join(run.heldPath, "report.html");
const both = join(run.heldPath, "both.html");
let browser: Browser;

beforeAll(async () => {
  writeFileSync(one, await pageOf([run]));
  writeFileSync(both, await pageOf([run, other]));
  if (noBrowser === null) browser = await startBrowser();
});
afterAll(async () => {
  if (noBrowser === null) await browser[Symbol.asyncDispose]();
  for (const { heldPath } of [run, other]) rmSync(heldPath, { recursive: true, force: true });
});

/** Part of the canvas that is painted otherwise than its corner. */
const painted = (page: Page): Promise<number> =>
  page.evaluate(() => {
    const canvas = document.querySelector("canvas");
    const pixels = canvas?.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
    let count = 0;
    for (let i = 3; i < pixels.length; i += 4) if (pixels[i] !== 0) count += 1;
    return (4 * count) / pixels.length;
  });
const viewOf = async (page: Page) =>
  JSON.parse((await page.locator("canvas").getAttribute("data-view")) ?? "null") as Record<string, number>;

describe.skipIf(noBrowser !== null)("report.html in a browser", () => {
  test("asks for nothing, breaks none of its own rules, and runs no script of a name, a command or a reason", async () => {
    await using opened = await browser.open(one);
    const { page, requests, errors } = opened;
    expect({ requests, errors }).toEqual({ requests: [], errors: [] });
    expect(await page.locator("[data-failed]").count()).toBe(0);
    expect(await page.title()).toBe(`${HOSTILE} · mrm-trace`);
    expect(await page.locator("img").count()).toBe(0);
    expect(await page.locator("main").textContent()).toContain(HOSTILE);
    // The policy holds: neither a script nor a style that is put in later runs.
    await page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "document.title = 'owned'";
      document.body.append(script);
    });
    expect(await page.title()).not.toBe("owned");
  });

  test("is drawn anew where the window changes its width, without a loop of drawings that resize it", async () => {
    await using opened = await browser.open(both, { width: 800 });
    const { page } = opened;
    await page.evaluate(() => {
      const messages: string[] = [];
      Object.assign(window, { loops: messages });
      window.addEventListener("error", ({ message }) => messages.push(message));
    });
    const widthOf = () => page.evaluate(() => document.querySelector("svg.treemap")?.getAttribute("viewBox"));
    const before = await widthOf();
    for (const width of [400, 700, 360]) {
      await page.setViewportSize({ width, height: 3000 });
      await page.waitForTimeout(200);
    }
    expect(await widthOf()).not.toBe(before ?? "");
    expect(await page.evaluate(() => (window as unknown as { loops: string[] }).loops)).toEqual([]);
  });

  test.each(WIDTHS)(
    "fits a window of %d pixels, with every section in its order and something in each",
    async (width) => {
      await using opened = await browser.open(one, { width });
      const { page } = opened;
      const wide = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      expect(wide).toBeLessThanOrEqual(0);
      const boxes = await page.evaluate(() =>
        [...document.querySelectorAll("section")].map((section) => {
          const { top, height, left, right } = section.getBoundingClientRect();
          return { id: section.id, top, height, left, right };
        }),
      );
      expect(boxes.map(({ id }) => id)).toEqual([
        "answer",
        "map",
        "plots",
        "tensors",
        "figures",
        "trust",
        "machine",
        "estimates",
      ]);
      for (const [i, box] of boxes.entries()) {
        expect(box.height).toBeGreaterThan(50);
        expect(box.left).toBeGreaterThanOrEqual(0);
        expect(box.right).toBeLessThanOrEqual(width);
        expect(box.top).toBeGreaterThan(boxes[i - 1]?.top ?? Number.NEGATIVE_INFINITY);
      }
      expect(await painted(page)).toBeGreaterThan(0.2);
      expect(await page.locator("svg.treemap rect").count()).toBe(9);
    },
  );

  test("explains a figure to the pointer and to the keyboard, and puts the explanation away at Escape", async () => {
    await using opened = await browser.open(one);
    const { page } = opened;
    const figure = page.locator("#answer button.figure", { hasText: "3941" });
    const box = page.locator("#explanation");
    expect(await box.isVisible()).toBe(false);
    await figure.hover();
    const text = await box.textContent();
    expect(text).toMatch(/reads_per_write: 3941 \[3502, 4212\] \(95 %\)\nn = 118; from watch, over decode, grain 8 B/);
    expect(text).toContain("method: Horvitz-Thompson ratio");
    await page.keyboard.press("Escape");
    expect(await box.isVisible()).toBe(false);
    await page.mouse.move(0, 0);
    await figure.focus();
    expect(await box.isVisible()).toBe(true);
    await page.keyboard.press("Tab");
    expect(await box.textContent()).not.toBe(text);
    // One far below is scrolled to, and its explanation goes with it.
    await page.locator("#figures button.figure").last().focus();
    await page.waitForFunction(() => {
      const figure = [...document.querySelectorAll("#figures button.figure")].at(-1)?.getBoundingClientRect();
      const { top, bottom } = document.getElementById("explanation")?.getBoundingClientRect() ?? { top: 0, bottom: 0 };
      return figure !== undefined && Math.min(Math.abs(top - figure.bottom), Math.abs(figure.top - bottom)) < 20;
    });
    // Whoever does not see it is told the same.
    const id = await figure.getAttribute("aria-describedby");
    expect(await page.locator(`#${id}`).textContent()).toBe(text);
  });

  test("zooms and moves the map of addresses by keys, buttons, wheel and pointer, and says what lies there", async () => {
    await using opened = await browser.open(one);
    const { page } = opened;
    const canvas = page.locator("canvas");
    await canvas.scrollIntoViewIfNeeded();
    expect(await page.locator(".key.looked").textContent()).toBe("watched, and not used then");
    expect(await page.locator("#map .about").last().textContent()).toBe("In no region of this map: 1 access.");
    const whole = await viewOf(page);
    const widthOf = (view: Record<string, number>): number => (view.end ?? 0) - (view.begin ?? 0);
    const changed = async (act: () => Promise<unknown>) => {
      const before = await canvas.getAttribute("data-view");
      await act();
      await page.waitForFunction((old) => document.querySelector("canvas")?.dataset.view !== old, before);
      return await viewOf(page);
    };
    await canvas.focus();
    const zoomed = await changed(() => page.keyboard.press("+"));
    expect(widthOf(zoomed)).toBeCloseTo(widthOf(whole) / 1.6, 3);
    const right = await changed(() => page.keyboard.press("ArrowRight"));
    expect(right.begin ?? 0).toBeGreaterThan(zoomed.begin ?? 0);
    expect(await changed(() => page.keyboard.press("0"))).toEqual(whole);
    await changed(() => page.getByRole("button", { name: "zoom in" }).click());
    expect(await changed(() => page.getByRole("button", { name: "show the whole run" }).click())).toEqual(whole);
    const box = await canvas.boundingBox();
    const [x, y] = [(box?.x ?? 0) + 600, (box?.y ?? 0) + 200];
    await page.mouse.move(x, y);
    expect(await page.locator(".heat-words").textContent()).toMatch(
      /^blk\.\d\.ffn\.weight\nweight, layer \d, 2\.00 MiB at 0x7f\w+\n[\d.]+ s, decode, token \d+\n/,
    );
    await canvas.focus();
    const wheeled = await changed(() => page.mouse.wheel(0, -100));
    expect(widthOf(wheeled)).toBeLessThan(widthOf(whole));
    const dragged = await changed(async () => {
      await page.mouse.down();
      await page.mouse.move(x - 100, y);
      await page.mouse.up();
    });
    expect(dragged.begin ?? 0).toBeGreaterThan(wheeled.begin ?? 0);
  });

  test("draws the curves that the run has, with their values as a table, and says why of all others", async () => {
    await using opened = await browser.open(one);
    const { page } = opened;
    const plots = page.locator("figure.plot");
    expect(await plots.count()).toBe(11);
    const retention = page.locator('[data-plot="retention"]');
    expect(await retention.locator("svg").getAttribute("aria-label")).toBe("How long data is needed: kv_cache");
    // A line, its band and the ticks of what was cut short: 13 of 20 points.
    expect(await retention.locator('[data-marks="line"] path, [data-marks="area"] path').count()).toBe(2);
    expect(await retention.locator('[data-marks="dot"] path').count()).toBe(13);
    expect(await retention.locator(".why-not").textContent()).toBe(`Not drawn: weight (no write ${HOSTILE}).`);
    await retention.locator("summary").press("Enter");
    const first = retention.locator("tbody tr").first();
    await first.waitFor();
    expect(await first.locator("td").allTextContents()).toEqual(["1.00 ms", "100 %", "90 % to 100 %", "100"]);
    // Times of a timeline are those of the run.
    const bandwidth = page.locator('[data-plot="bandwidth"] [data-marks="x-axis tick label"] text');
    expect(await bandwidth.allTextContents()).toEqual(["0 ns", "10.0 s", "20.0 s", "30.0 s"]);
    expect(await page.locator('[data-plot="stride"] .why-not').textContent()).toContain("this run has no such curve");
  });

  test("draws shares of several classes at one grain beside each other, and a bound as one", async () => {
    await using opened = await browser.open(one);
    const once = opened.page.locator('[data-plot="write_once"]');
    expect(await once.locator('[data-marks="dot"] circle').count()).toBe(2);
    // Each points from the end that is known to where the share may lie.
    expect(await once.locator('[data-marks="dot"] path').count()).toBe(2);
    const places = await once
      .locator('[data-marks="rule"] line')
      .evaluateAll((lines) =>
        lines
          .filter((line) => line.getAttribute("x1") === line.getAttribute("x2"))
          .map((line) => Math.round(line.getBoundingClientRect().left)),
      );
    expect(new Set(places).size).toBe(4);
    expect(await once.locator('[data-marks="rule"][stroke-dasharray] line').count()).toBe(2);
    expect(await once.locator(".why-not").textContent()).toBe("Not drawn: runtime (0 to 100 %: it may be any share).");
  });

  test("marks every tensor, a bound by the end that is known, among the borders of devices", async () => {
    await using opened = await browser.open(one);
    const tensors = opened.page.locator('[data-plot="read_rate_by_lifetime"]');
    const marks = tensors.locator('[data-marks="dot"]');
    // Hollow is what lived on when nobody looked any more.
    const filled = await marks
      .locator("circle")
      .evaluateAll((dots) => dots.map((dot) => dot.getAttribute("fill-opacity")));
    expect(filled).toEqual(["0", "0.8"]);
    // The only tensor of its class, known from below; and one between two ends, with a line from one to the other.
    expect(await marks.locator("path").count()).toBe(3);
    expect(await tensors.locator("svg").getAttribute("aria-label")).toBe(
      "Lifetime and reads of each tensor: weight, kv_cache, activation",
    );
    // Each device that has a border is named at it, and each that has none with the reason.
    const devices = presetBorders();
    const named = (await tensors.locator('[data-marks="text"] text').allTextContents()).join(", ").split(", ");
    const bordered = devices.flatMap(({ preset, retention_ns, reads_per_s }) => [
      ...(retention_ns === null ? [] : [preset]),
      ...(reads_per_s === null ? [] : [preset]),
    ]);
    expect(named.sort()).toEqual(bordered.sort());
    const without = devices.filter(({ retention_ns }) => retention_ns === null).map(({ preset }) => preset);
    expect(await tensors.locator(".why-not").first().textContent()).toContain(
      `There is no upright line for ${without.join(", ")}: the file does not say how long it keeps data;`,
    );
    await tensors.locator("summary", { hasText: "Devices" }).press("Enter");
    const rows = tensors.locator("table.devices tbody tr");
    expect(await rows.count()).toBe(devices.length);
    const dram = rows.filter({ hasText: "dram:" }).locator("td");
    expect(await dram.first().textContent()).toBe("64.0 ms");
    expect(await dram.last().textContent()).toContain(
      devices.find(({ preset }) => preset === "dram")?.sources[0] ?? "",
    );
  });

  test("draws each request of a run that has some: its wait, its prompt, its answer, and all of it as a table", async () => {
    await using opened = await browser.open(both);
    const { page, errors } = opened;
    const requests = page.locator("figure.requests");
    expect(await requests.count()).toBe(1);
    expect(errors).toEqual([]);
    const svg = requests.locator("svg[role=img]");
    await svg.waitFor();
    expect(await svg.getAttribute("aria-label")).toBe("Requests by time, 2 at once at most");
    expect(await requests.locator(".tools").textContent()).toStartWith("11 requests");
    const spans = await requests.locator('[data-marks="rule"]').evaluateAll((groups) =>
      groups.map((group) =>
        [...group.querySelectorAll("line")].map((line) => {
          const { left, right, top } = line.getBoundingClientRect();
          return { left, width: right - left, top: Math.round(top) };
        }),
      ),
    );
    expect(spans.map((lines) => lines.length)).toEqual([11, 11, 11]);
    const [, prompts = [], answers = []] = spans;
    // Both of a pair begin at one time, in two lanes; the one whose first token came later is answered later.
    expect(prompts[0]?.left).toBeCloseTo((prompts[1]?.left ?? 0) + (spans[0]?.[0]?.width ?? 0), 0);
    expect(prompts[0]?.top).not.toBe(prompts[1]?.top);
    expect(answers[1]?.left ?? 0).toBeGreaterThan(answers[0]?.left ?? 0);
    expect(answers[1]?.width).toBeCloseTo(answers[0]?.width ?? 0, 0);
    expect(await requests.locator('[data-marks="dot"] path').count()).toBe(1);
    // Below the times stand the tokens of the engine.
    const ticks = await requests.locator('[data-marks="x-axis tick label"] text').allTextContents();
    expect(ticks).toContain("20.0 s200");
    const first = (answers[0]?.left ?? 0) - ((await svg.boundingBox())?.x ?? 0);
    await svg.hover({ position: { x: first, y: 15 } });
    await svg.filter({ hasText: "request " }).waitFor();
    expect(await svg.textContent()).toContain("first token after 120 ms, of which it waited 1.50 ms");
    await requests.locator("summary").press("Enter");
    const rows = requests.locator("tbody tr");
    await rows.first().waitFor();
    expect(await rows.count()).toBe(11);
    expect(await rows.nth(1).locator("td").allTextContents()).toEqual([
      ...["2", "5.00 s", "900 ms", "?", "11.2 ms", "30.0 ms"],
      ...["66", "50", "75.8 %", "128", "?", "?", "answered"],
    ]);
    expect((await rows.first().locator("td").allTextContents()).slice(-3)).toEqual(["2.00 MiB", "2.50 s", "answered"]);
  });

  test("sorts and filters the regions", async () => {
    await using opened = await browser.open(one);
    const { page } = opened;
    const rows = page.locator("table.regions tbody tr");
    const filter = (name: string) => page.locator("#tensors label", { hasText: name }).locator("input, select");
    expect(await rows.count()).toBe(9);
    const names = async () => await page.locator("table.regions td.name").allInnerTexts();
    // Most accesses first; then by size, largest first and smallest first.
    expect((await names())[0]).toBe("blk.3.ffn.weight");
    await page.getByRole("button", { name: "size" }).click();
    expect((await names())[0]).toMatch(/^blk/);
    await page.getByRole("button", { name: "size" }).press("Enter");
    expect((await names())[0]).toMatch(/^cache_k/);
    await filter("class").selectOption("weight");
    expect(await rows.count()).toBe(4);
    await filter("layer").selectOption("2");
    expect(await names()).toEqual(["blk.2.ffn.weight"]);
    await filter("class").selectOption("");
    await filter("name").fill("CACHE");
    expect(await names()).toEqual(["cache_k_l2"]);
    await filter("layer").selectOption("");
    await filter("name").fill("<img");
    expect(await names()).toEqual([HOSTILE]);
    // Of single regions those with a figure.
    const single = page.locator("#tensors table.figures tbody tr");
    expect(await single.locator("th").allTextContents()).toEqual([HOSTILE]);
    expect(await single.locator("button").allTextContents()).toEqual(["1.86 GiB/s ±6%"]);
  });

  test.each(["light", "dark"] as const)(
    "has nothing serious to a checker of accessibility, in %s colours",
    async (scheme) => {
      await using opened = await browser.open(both, { scheme });
      const { page } = opened;
      // The page's own policy lets no script in: the checker comes through the debugger, as an extension would.
      const session = await page.context().newCDPSession(page);
      await session.send("Runtime.evaluate", { expression: AXE });
      const { result } = await session.send("Runtime.evaluate", {
        expression:
          "axe.run().then(({ violations, passes }) => JSON.stringify({ passes: passes.length, violations: violations.map(({ id, impact, nodes }) => ({ id, impact, html: nodes[0].html.slice(0, 200) })) }))",
        awaitPromise: true,
      });
      const { violations, passes } = JSON.parse(String(result.value)) as {
        passes: number;
        violations: { impact: string }[];
      };
      expect(passes).toBeGreaterThan(20);
      expect(violations.filter(({ impact }) => impact === "serious" || impact === "critical")).toEqual([]);
    },
  );

  test("has two runs side by side where there is room, else one below the other", async () => {
    const places = async (width: number) => {
      await using opened = await browser.open(both, { width });
      const { page, errors } = opened;
      expect(errors).toEqual([]);
      return await page.evaluate(() =>
        [...document.querySelectorAll("#answer .run")].map((part) => part.getBoundingClientRect().top),
      );
    };
    const wide = await places(1440);
    expect(wide).toHaveLength(2);
    expect(wide[0]).toBe(wide[1] ?? Number.NaN);
    const [first = 0, second = 0] = await places(600);
    expect(second).toBeGreaterThan(first);
  });

  test("shows the reasons of all figures on paper, and leaves out what can only be pressed", async () => {
    await using opened = await browser.open(one);
    const { page } = opened;
    await page.emulateMedia({ media: "print" });
    expect(await page.locator("nav").isVisible()).toBe(false);
    expect(await page.getByRole("button", { name: "zoom in" }).isVisible()).toBe(false);
    expect(await page.locator("#answer table").isVisible()).toBe(true);
    // As wide as A4 between its margins: nobody can scroll there.
    await page.setViewportSize({ width: 720, height: 1000 });
    const cut = await page.evaluate(() =>
      [...document.querySelectorAll(".scroll > table")]
        .filter((table) => table.getBoundingClientRect().right > document.documentElement.clientWidth)
        .map((table) => table.className),
    );
    expect(cut).toEqual([]);
    const swatch = await page.evaluate(() => {
      const key = document.querySelector("#plots .class");
      return key === null ? "" : getComputedStyle(key, "::before").printColorAdjust;
    });
    expect(swatch).toBe("exact");
  });
});
