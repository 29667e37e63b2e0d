/**
 * What the page looks like. Letters have other shapes on another machine, so that there is no picture to compare with from
 * elsewhere: pictures that are taken here are compared with each other by the share of pixels that differ.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { pageOf } from "../../../src/report/page/page.ts";
import { type Browser, noBrowser, startBrowser } from "../../fixtures/browser.ts";
import { writePageRun } from "../../fixtures/page-run.ts";
import { pictureOf, sectionLooks } from "./section-looks.ts";

setDefaultTimeout(120_000);

const WIDTHS = [360, 800, 1440];
/** Edges of letters may be drawn by another thread with other rounding. */
const SAME = 0.002;
/** Less is a blank section, more is one that is painted over. */
const [LEAST_INK, MOST_INK] = [0.01, 0.6];

const run = writePageRun();
const file = join(run.heldPath, "report.html");
const again = join(run.heldPath, "again.html");
let browser: Browser;

beforeAll(async () => {
  writeFileSync(file, await pageOf([run]));
  writeFileSync(again, await pageOf([run]));
  if (noBrowser === null) browser = await startBrowser();
});
afterAll(async () => {
  if (noBrowser === null) await browser[Symbol.asyncDispose]();
  rmSync(run.heldPath, { recursive: true, force: true });
});

/** Waits until all drawings are as wide as their places, and painted. */
async function redrawn(page: Page): Promise<void> {
  await page.waitForFunction(() => {
    const canvases = [...document.querySelectorAll("canvas")];
    const plots = [...document.querySelectorAll<SVGSVGElement>(".drawing > svg")];
    const maps = [...document.querySelectorAll<SVGSVGElement>("svg.treemap")];
    return (
      canvases.every((canvas) => canvas.width === Math.round(canvas.clientWidth * devicePixelRatio)) &&
      plots.every((plot) => plot.width.baseVal.value === Math.max(280, plot.parentElement?.clientWidth ?? 0)) &&
      maps.every((map) => map.viewBox.baseVal.width === Math.max(200, map.parentElement?.clientWidth ?? 0))
    );
  });
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}

describe.skipIf(noBrowser !== null)("pictures of report.html", () => {
  test.each(WIDTHS)(
    "of %d pixels show every section, the same of a page made again, and of one that had another width before",
    async (width) => {
      await using first = await browser.open(file, { width });
      const before = await pictureOf(first.page);
      await using second = await browser.open(again, { width });
      const other = WIDTHS[(WIDTHS.indexOf(width) + 1) % WIDTHS.length] ?? width;
      const looks = await sectionLooks(second.page, await pictureOf(second.page), before);
      expect(looks).toHaveLength(8);
      expect(looks.filter(({ ink }) => ink < LEAST_INK || ink > MOST_INK)).toEqual([]);
      expect(looks.filter(({ changed }) => changed > SAME)).toEqual([]);
      await second.page.setViewportSize({ width: other, height: 900 });
      await redrawn(second.page);
      await second.page.setViewportSize({ width, height: 900 });
      await redrawn(second.page);
      const resized = await sectionLooks(second.page, await pictureOf(second.page), before);
      expect(resized.filter(({ changed }) => changed > SAME)).toEqual([]);
    },
  );

  test("are light or dark in every section, with as much on them", async () => {
    await using light = await browser.open(file);
    await using dark = await browser.open(file, { scheme: "dark" });
    const [day, night] = [await pictureOf(light.page), await pictureOf(dark.page)];
    const bright = await sectionLooks(light.page, day, night);
    const dim = await sectionLooks(dark.page, night, day);
    for (const [i, { id, ink, changed }] of bright.entries()) {
      expect({ id, isOther: changed > 0.9 }).toEqual({ id, isOther: true });
      const ratio = (dim[i]?.ink ?? 0) / ink;
      expect({ id, isAsFull: ratio > 0.5 && ratio < 2 }).toEqual({ id, isAsFull: true });
    }
  });

  test.each(WIDTHS)("of %d pixels have no word of a plot upon another or outside of its place", async (width) => {
    await using opened = await browser.open(file, { width });
    const found = await opened.page.evaluate(() =>
      [...document.querySelectorAll<SVGSVGElement>(".drawing > svg, svg.treemap")].flatMap((svg) => {
        const place = svg.getBoundingClientRect();
        const texts = [...svg.querySelectorAll("text")].flatMap((text) => {
          const { left, right, top, bottom } = text.getBoundingClientRect();
          return right > left ? [{ text: text.textContent ?? "", left, right, top, bottom }] : [];
        });
        const outside = texts.filter(({ left, right }) => left < place.left - 2 || right > place.right + 2);
        const overlaps = texts.flatMap((a, i) =>
          texts
            .slice(i + 1)
            .filter(
              (b) =>
                Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 &&
                Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3,
            )
            .map((b) => `${a.text} / ${b.text}`),
        );
        return [...outside.map(({ text }) => `${text} is outside`), ...overlaps];
      }),
    );
    expect(found).toEqual([]);
  });
});
