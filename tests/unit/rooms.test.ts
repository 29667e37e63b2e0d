import { describe, expect, test } from "bun:test";
import { dirname, join } from "node:path";
import { Glob } from "bun";

const ROOT = new URL("../../", import.meta.url).pathname;
/** A folder with more files than one look takes in holds more than one subject. */
const MOST_FILES = 30;
const MOST_LINES = 400;

const files = [...new Glob("src/**/*.ts").scanSync(ROOT)].sort();

describe("the rooms of src", () => {
  test(`hold at most ${MOST_FILES} files each`, () => {
    const counts = new Map<string, number>();
    for (const file of files) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
    expect([...counts].filter(([, count]) => count > MOST_FILES)).toEqual([]);
  });

  test(`have no file of more than ${MOST_LINES} lines, and each begins with what it is`, async () => {
    for (const file of files) {
      const text = await Bun.file(join(ROOT, file)).text();
      expect([file, text.split("\n").length <= MOST_LINES + 1]).toEqual([file, true]);
      expect([file, text.startsWith("/**")]).toEqual([file, true]);
    }
  });
});
