import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readWorldFile } from "../../../src/config/world-file.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-world-"));
afterAll(() => rmSync(folder, { recursive: true }));

const path = join(folder, "world.yaml");
const STRATUM = "class: weight, bytes: 1MiB, period: 7ms";

function read(text: string) {
  writeFileSync(path, text);
  return readWorldFile(path).described;
}
const refusal = (text: string): { code: string; message: string; hint: string } => {
  try {
    read(text);
  } catch (error) {
    return error as { code: string; message: string; hint: string };
  }
  throw new Error(`taken: ${text}`);
};

describe("a file that describes a world", () => {
  test("needs a stratum alone; times have a unit or are seconds", () => {
    expect(read(`strata: [{ ${STRATUM} }]`)).toMatchObject({ run: 30e9, budget: 1, strata: [{ period: 7e6 }] });
    expect(read(`run: 5\ntoken: 0.02\nstrata: [{ ${STRATUM} }]`)).toMatchObject({ run: 5e9, token: 20e6 });
  });

  test("takes blocks as often as it is told to", () => {
    const blocks = (every: string): string => `strata: [{ ${STRATUM}, blocks: { every: ${every}, life: 1s } }]`;
    expect(read(blocks("3.1ms")).strata[0]?.blocks).toEqual({ every: 3.1e6, life: 1e9, uneven: 0, reuse: true });
    expect(read(blocks("30s")).strata).toHaveLength(1);
    // None comes before the moment from which it is used on.
    expect(read(`strata: [{ ${STRATUM}, from: 1s, blocks: { every: 50ms, life: 1d } }]`).strata).toHaveLength(1);
  });

  test("may fill the shortest period with its accesses, whatever floats make of it", () => {
    for (const uneven of [0, 0.1, 0.3, 0.6, 0.7, 0.8, 0.9]) {
      for (const touches of [2, 4, 11]) {
        const spacing = (100 * (10 - 10 * uneven)) / 10 / (touches - 1);
        const words = `touches: ${touches}, spacing: ${spacing}ms, uneven: ${uneven}`;
        expect(read(`strata: [{ class: weight, bytes: 1MiB, period: 100ms, ${words} }]`).strata).toHaveLength(1);
      }
    }
  });

  test("is told how far apart accesses may be that do not fit, as it can be given", () => {
    const stratum = (spacing: string): string =>
      `strata: [{ class: weight, bytes: 1MiB, period: 100ms, uneven: 0.8, touches: 8, spacing: ${spacing} }]`;
    expect(refusal(stratum("3ms")).message).toContain(
      "8 accesses fit into the shortest period, 20.0 ms, if they are at most 2.85 ms apart",
    );
    expect(read(stratum("2.85ms")).strata[0]?.spacing).toBe(2.85e6);
  });

  test.each([
    ["strata: []", "strata: at least 1 item expected, but received []"],
    ["run: 30s", "strata: missing"],
    [`strata: [{ ${STRATUM}, periode: 1s }]`, "did you mean period?"],
    [`strata: [{ ${STRATUM}, writes: 1.5 }]`, "a number from 0 to 1 expected, but received 1.5"],
    [`strata: [{ ${STRATUM}, touches: 1e9 }]`, "a whole number from 1 to 1000 expected"],
    [`strata: [{ ${STRATUM}, touches: 10, spacing: 1ms }]`, 'at most 777 us apart, but received "1ms"'],
    [`strata: [{ ${STRATUM} }, { ${STRATUM} }]`, "another stratum has this name"],
    [`strata: [{ ${STRATUM}, hot: { share: 0, times: 2 } }]`, "strata[0].hot.share"],
    ["strata: [{ class: wheight, bytes: 1MiB, period: 7ms }]", "one of weight"],
    ["strata: [{ class: weight, bytes: 1PiB, period: 7ms }]", '8B to 1TiB expected, but received "1PiB"'],
    ["strata: [{ class: weight, bytes: 1XB, period: 7ms }]", "a size with its unit"],
    ["strata: [{ class: weight, bytes: 1e30, period: 7ms }]", "8B to 1TiB expected"],
    ["strata: [{ class: weight, bytes: 12B, period: 7ms }]", "whole words of 8 bytes expected, such as 8 or 16 B"],
    ["strata: [{ class: weight, bytes: 9999TB, period: 7ms }]", "8B to 1TiB expected"],
    ["strata: [{ class: weight, bytes: 1MiB, period: .inf }]", "but received .inf"],
    ["strata: [{ class: weight, bytes: .nan, period: 7ms }]", "but received .nan"],
    ["strata: [{ class: weight, bytes: 1MiB, period: -5 }]", "more than 0 expected, but received -5"],
    [`run: 2h\nstrata: [{ ${STRATUM} }]`, "1s to 600s expected"],
    [`run: 1e30\nstrata: [{ ${STRATUM} }]`, "1s to 600s expected, but received 1e+30"],
    [`run: .nan\nstrata: [{ ${STRATUM} }]`, "but received .nan"],
    [`name: ${"x".repeat(201)}\nstrata: [{ ${STRATUM} }]`, "at most 200 characters expected"],
    [`name: ""\nstrata: [{ ${STRATUM} }]`, "at least 1 character expected"],
    [`name: a model: small\nstrata: [{ ${STRATUM} }]`, 'text with a colon in it needs quotes, such as "a: b"'],
    [`name: a\n---\nname: b`, "world.yaml:2:1: one document expected, but --- begins another"],
    [`name: a\nrun\nstrata: [{ ${STRATUM} }]`, "a key needs a colon behind it, on the same line"],
    [`foo: 2\nstrata: [{ ${STRATUM} }]`, "foo: unknown key, but received 2; one of name, run"],
    [`strata: [{ ${STRATUM}, foo: 1 }]`, "foo: unknown key, but received 1; one of name, class"],
    [`run: 5s\nstrata: [{ ${STRATUM}, until: 6s }]`, "until: at most the run, 5.00 s, expected"],
    [`run: 5s\nstrata: [{ ${STRATUM}, from: 5s }]`, "from: less than the end, 5.00 s, expected"],
    [`run: 5s\nstrata: [{ ${STRATUM}, from: 3s, until: 2s }]`, "from: less than the end, 2.00 s, expected"],
    [
      `run: 5s\nstrata: [{ ${STRATUM}, from: 3s, until: 2s, blocks: { every: 1s, life: 1s } }]`,
      "from: less than the end, 2.00 s, expected",
    ],
    [`strata: [{ ${STRATUM}, from: 0s }]`, "more than 0 expected"],
    [`strata: [{ ${STRATUM}, blocks: { every: 1s } }]`, "strata[0].blocks.life: text with its unit expected"],
    [`strata: [{ ${STRATUM}, blocks: { every: 1s, live: 1s } }]`, "did you mean life?"],
    [`strata: [{ ${STRATUM}, blocks: { every: 1us, life: 1s } }]`, "blocks.every: 1ms to 1d expected"],
    [`strata: [{ ${STRATUM}, blocks: { every: 1s, life: 2d } }]`, "blocks.life: 1ms to 1d expected"],
    [`strata: [{ ${STRATUM}, blocks: { every: 1s, life: 1s, reuse: 3 } }]`, "blocks.reuse: true or false expected"],
    [`strata: [{ ${STRATUM}, blocks: { every: 1s, life: 1s, uneven: 1 } }]`, "blocks.uneven: a number from 0 to 0.9"],
    [
      `strata: [{ ${STRATUM}, blocks: { every: 40s, life: 1s } }]`,
      "blocks.every: at most 30.0 s expected, or a run may have no block",
    ],
    [
      `strata: [{ ${STRATUM}, blocks: { every: 2ms, life: 1s } }]`,
      "blocks.every: at least 3.10 ms expected, or there would be more than 10.0k blocks, but received",
    ],
    [
      `strata: [{ ${STRATUM}, blocks: { every: 1s, life: 1s } }, { name: b, ${STRATUM}, blocks: { every: 4ms, life: 1s } }]`,
      "strata[1].blocks.every: at least 6.20 ms expected, or there would be more than 5000 blocks, as 10.0k are shared",
    ],
    [`strata: [{ ${STRATUM}, random: [moment] }]`, "strata[0].random[0]: one of moments, writes, blocks expected"],
    [`strata: [{ ${STRATUM}, random: moments }]`, "random: one or more of moments, writes, blocks expected"],
    [`strata: [{ ${STRATUM}, random: [moments], uneven: 0.1 }]`, "uneven: 0 expected beside random moments"],
    [`strata: [{ ${STRATUM}, random: [moments], touches: 3 }]`, "touches: 1 expected, or spacing"],
    [`strata: [{ ${STRATUM}, random: [writes] }]`, "random: writes expected for random writes"],
    [`strata: [{ ${STRATUM}, random: [blocks] }]`, "random: blocks expected for random blocks"],
    [
      `strata: [{ ${STRATUM}, random: [blocks], blocks: { every: 1s, life: 1s, uneven: 0.2 } }]`,
      "blocks.uneven: 0 expected beside random blocks",
    ],
    [
      `run: 7s\nstrata: [{ ${STRATUM}, random: [blocks], blocks: { every: 2s, life: 1s } }]`,
      "blocks.every: at most 1.00 s expected, or a run may have no block",
    ],
    [
      `strata: [{ ${STRATUM}, from: 29s, blocks: { every: 2s, life: 3s } }]`,
      "blocks.every: at most 1.00 s expected, or a run may have no block",
    ],
    [
      `strata: [{ ${STRATUM}, from: 22s, random: [blocks], blocks: { every: 2s, life: 3s } }]`,
      "blocks.every: at most 1.00 s expected, or a run may have no block",
    ],
    [`strata: [{ ${STRATUM}, fills: 0.5ms }]`, "fills: 1ms to 1d expected"],
    [`strata: [{ ${STRATUM}, pareto: 0.2 }]`, "pareto: a number from 0.5 to 10 expected"],
    [`busy: 2s\nstrata: [{ ${STRATUM} }]`, "idle: expected beside busy"],
    [`idle: 2s\nstrata: [{ ${STRATUM} }]`, "busy: expected beside idle"],
    [`budget: 0\nstrata: [{ ${STRATUM} }]`, "a number from 0.01 to 50"],
    [`strata: [${`{ ${STRATUM} }, `.repeat(17)}]`, "at most 16 items expected"],
    ["[1, 2]", "a mapping of keys to values expected"],
    ["a: [", "world.yaml:1:"],
    ["", "is empty"],
  ])("is refused with the place and the fix: %s", (text, words) => {
    const { code, message, hint } = refusal(text);
    expect(code).toBe("usage");
    expect(`${message}\n${hint}`).toContain(words);
    expect(hint).toContain("mrm-trace");
  });

  test("is bounded, whatever it holds", () => {
    const bomb = [
      "a: &a [x, x, x, x, x, x, x, x, x, x]",
      ...[..."bcdefgh"].map((name, i) => {
        const before = "abcdefgh"[i];
        return `${name}: &${name} [${Array.from({ length: 10 }, () => `*${before}`).join(", ")}]`;
      }),
    ];
    expect(refusal(bomb.join("\n")).message).toContain("more than 100 aliases");
    expect(refusal(`strata: ${"[".repeat(50_000)}`).code).toBe("usage");
    expect(refusal("x".repeat(2 ** 20 + 1)).message).toContain("larger than");
    expect(() => readWorldFile(folder)).toThrow(/cannot be read as a described world: it is a folder/);
    expect(() => readWorldFile("/dev/null")).toThrow(
      /not a regular file but a pipe or a device: save it as a file first/,
    );
    expect(() => readWorldFile("-")).toThrow(/standard input is not read: save it as a file first/);
    expect(() => readWorldFile(join(folder, "none.yaml"))).toThrow(/no such file or directory/);
  });
});
