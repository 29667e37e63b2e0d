/** Pictures of a page, compared section by section inside the browser that took them. */
import type { Page } from "playwright-core";

/** A section as it looks, and how it differs from how it looked before. */
export interface SectionLook {
  readonly id: string;
  /** Share of its pixels that are not as the paper, 0 to 1. */
  readonly ink: number;
  /** Share of its pixels of which a colour differs by more than a sixteenth of its range, 0 to 1. */
  readonly changed: number;
}

/** Pixels of a picture to one of the page: half as many are a quarter of the work, and show as much. */
const SCALE = 0.5;

/** The whole page as PNG in base64, in half of its size. */
export async function pictureOf(page: Page): Promise<string> {
  const session = await page.context().newCDPSession(page);
  const { width, height } = await page.evaluate(() => {
    const { scrollWidth, scrollHeight } = document.documentElement;
    return { width: scrollWidth, height: scrollHeight };
  });
  const { data } = await session.send("Page.captureScreenshot", {
    format: "png",
    optimizeForSpeed: true,
    captureBeyondViewport: true,
    clip: { x: 0, y: 0, width, height, scale: SCALE },
  });
  return data;
}

/**
 * How each section of the opened page looks in a picture of it, and how that differs from another picture.
 * @throws Error where the two are not of one size
 */
export async function sectionLooks(page: Page, picture: string, before: string): Promise<SectionLook[]> {
  return await page.evaluate(
    async ([scale, ...encoded]) => {
      const [now, then] = await Promise.all(
        encoded.map(async (text) => {
          const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
          const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
          const pen = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
          pen?.drawImage(bitmap, 0, 0);
          const { width, height } = bitmap;
          return { width, height, data: pen?.getImageData(0, 0, width, height).data ?? new Uint8ClampedArray() };
        }),
      );
      if (now === undefined || then === undefined) throw new Error("no picture");
      if (now.width !== then.width || now.height !== then.height) {
        throw new Error(`${now.width} x ${now.height} pixels, before ${then.width} x ${then.height}`);
      }
      const paper = getComputedStyle(document.body).backgroundColor.match(/\d+/g)?.map(Number) ?? [];
      const [red = 0, green = 0, blue = 0] = paper;
      const far = (a: number | undefined, b: number | undefined): boolean => Math.abs((a ?? 0) - (b ?? 0)) > 16;
      return [...document.querySelectorAll("section")].map((section) => {
        const box = section.getBoundingClientRect();
        const left = Math.ceil((box.left + scrollX) * scale);
        const top = Math.ceil((box.top + scrollY) * scale);
        const [width, height] = [Math.floor(box.width * scale) - 1, Math.floor(box.height * scale) - 1];
        let [ink, changed] = [0, 0];
        const [a, b] = [now.data, then.data];
        for (let y = top; y < top + height; y++) {
          for (let i = 4 * (y * now.width + left), end = i + 4 * width; i < end; i += 4) {
            if (far(a[i], red) || far(a[i + 1], green) || far(a[i + 2], blue)) ink += 1;
            if (far(a[i], b[i]) || far(a[i + 1], b[i + 1]) || far(a[i + 2], b[i + 2])) changed += 1;
          }
        }
        const pixels = width * height;
        return { id: section.id, ink: ink / pixels, changed: changed / pixels };
      });
    },
    [SCALE, picture, before] as const,
  );
}
