/** Takes the pictures of the docs from the report of a run: `bun run pictures RUN_DIR`. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { type OpenedPage, startBrowser } from "../tests/fixtures/browser.ts";

const WIDTH = 1000;
const QUALITY = 80;
/** What each picture shows: a section from its heading on, as far down as `height`. */
const PICTURES = [
  { name: "answer", from: "header", height: 1085 },
  { name: "map", from: "#map", height: 750 },
  { name: "plots", from: "#plots", height: 1030 },
  { name: "devices", from: '[data-plot="read_rate_by_lifetime"]', height: 685 },
  { name: "regions", from: "#tensors", height: 590 },
] as const;

const root = new URL("..", import.meta.url).pathname;
const [runDir = ""] = process.argv.slice(2);
const report = resolve(runDir, "report.html");
if (runDir === "" || !existsSync(report)) {
  process.stderr.write("usage: bun run pictures RUN_DIR, a folder with report.html\n");
  process.exit(2);
}

/** A part of the page as WebP, from the top of an element down. */
async function pictureOf({ page }: OpenedPage, { from, height }: (typeof PICTURES)[number]): Promise<Buffer> {
  const box = await page.locator(from).first().boundingBox();
  if (box === null) throw new Error(`the page has no ${from}`);
  const session = await page.context().newCDPSession(page);
  const isWhole = from.startsWith("#") || from === "header";
  const clip = isWhole ? { x: 0, y: box.y, width: WIDTH } : { x: box.x - 20, y: box.y - 10, width: box.width + 40 };
  const { data } = await session.send("Page.captureScreenshot", {
    format: "webp",
    quality: QUALITY,
    captureBeyondViewport: true,
    clip: { ...clip, height, scale: 1 },
  });
  return Buffer.from(data, "base64");
}

await using browser = await startBrowser();
await using opened = await browser.open(report, { width: WIDTH });
for (const picture of PICTURES) {
  const bytes = await pictureOf(opened, picture);
  await Bun.write(join(root, `docs/report-${picture.name}.webp`), bytes);
  process.stdout.write(`docs/report-${picture.name}.webp ${(bytes.length / 1024).toFixed(0)} KiB\n`);
}
