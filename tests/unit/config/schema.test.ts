import { describe, expect, test } from "bun:test";
import type { z } from "zod";
import { demoSchema, parseOptions, runSchema } from "../../../src/config/schema.ts";
import { MrmTraceError } from "../../../src/errors.ts";

function refusalOf(schema: z.ZodObject, given: Record<string, unknown>): MrmTraceError {
  try {
    parseOptions(schema, given);
  } catch (error) {
    if (error instanceof MrmTraceError) return error;
    throw error;
  }
  throw new Error(`${JSON.stringify(given)} was taken`);
}

describe("options of a run", () => {
  test("percent may have its sign", () => {
    expect(parseOptions(runSchema, { budget: "3%" }).budget).toBe(3);
    expect(parseOptions(runSchema, { budget: " 0.5 % " }).budget).toBe(0.5);
    for (const budget of ["%", "3%%", "60%"]) expect(() => parseOptions(runSchema, { budget })).toThrow("--budget");
  });

  test("the words of a choice are told once in the advice", () => {
    for (const [name, value] of [
      ["color", "sometimes"],
      ["collector", "nosuch"],
      ["record_command", "some"],
    ] as const) {
      try {
        parseOptions(runSchema, { [name]: value });
        expect.unreachable();
      } catch (error) {
        const { hint } = error as MrmTraceError;
        for (const word of hint.match(/[a-z-]{4,}/g) ?? []) {
          if (["auto", "always", "never", "ebpf", "memray"].includes(word)) expect(hint.split(word).length).toBe(2);
        }
      }
    }
  });

  test("are read from text with its unit", () => {
    const given = { duration: "1.5s", max_size: "2MiB", baseline: "100ms", seed: "7", budget: "0.5", json: true };
    expect(parseOptions(runSchema, given)).toMatchObject({
      duration: 1.5e9,
      max_size: 2 * 2 ** 20,
      baseline: 1e8,
      seed: 7,
      budget: 0.5,
      json: true,
      quiet: false,
    });
  });

  test("have defaults that are themselves valid", () => {
    expect(parseOptions(runSchema, {})).toMatchObject({
      output: "results",
      budget: 1,
      watch_registers: 4,
      source: ["auto"],
      baseline: 2e9,
    });
    expect(parseOptions(runSchema, { source: "pebs, watch,pebs" }).source).toEqual(["pebs", "watch"]);
    expect(parseOptions(demoSchema, {})).toMatchObject({ params: "110m", type: "q8_0", flash_attention: true });
    expect(parseOptions(runSchema, { duration: undefined }).duration).toBeUndefined();
  });

  test("take a bare number of a duration as seconds, and none as a size", () => {
    expect(parseOptions(runSchema, { duration: "5", baseline: "0.5" })).toMatchObject({ duration: 5e9, baseline: 5e8 });
    expect(() => parseOptions(runSchema, { max_size: "64" })).toThrow("a size with its unit expected");
  });

  const refused: [z.ZodObject, string, unknown][] = [
    [runSchema, "duration", "abc"],
    [runSchema, "duration", "5 5"],
    [runSchema, "duration", "0s"],
    [runSchema, "duration", -1],
    [runSchema, "max_size", "huge"],
    [runSchema, "max_size", "0B"],
    [runSchema, "baseline", "later"],
    [runSchema, "seed", "-1"],
    [runSchema, "seed", "1.5"],
    [runSchema, "seed", ""],
    [runSchema, "seed", "NaN"],
    [runSchema, "watch_registers", "5"],
    [runSchema, "source", "spe"],
    [runSchema, "clock_hz", 0],
    [runSchema, "source", "pebs,"],
    [runSchema, "source", ""],
    [runSchema, "watch_registers", ""],
    [runSchema, "budget", "0"],
    [runSchema, "budget", "Infinity"],
    [runSchema, "output", ""],
    [runSchema, "run_id", "../up"],
    [runSchema, "run_id", ".hidden"],
    [runSchema, "color", "pink"],
    [demoSchema, "params", "7b"],
    [demoSchema, "type", "q2_k"],
    [demoSchema, "seconds", "0"],
    [demoSchema, "seconds", " "],
    [demoSchema, "tokens", "0"],
    [demoSchema, "threads", "many"],
  ];
  for (const [schema, name, value] of refused) {
    const flag = `--${name.replaceAll("_", "-")}`;
    test(`${flag} ${JSON.stringify(value)} is refused with the option, what was received and the fix`, () => {
      const error = refusalOf(schema, { [name]: value });
      expect(error.code).toBe("usage");
      expect(error.exitCode).toBe(2);
      expect(error.message).toStartWith(`${flag}: `);
      expect(error.message).toContain(JSON.stringify(value));
      expect(error.hint.length).toBeGreaterThan(10);
    });
  }

  test("with a unit that is not known say how to write it", () => {
    expect(refusalOf(runSchema, { duration: "5 parsecs" }).message).toContain(
      "a duration expected (write it as 500ms, 30s or 2h)",
    );
    expect(refusalOf(runSchema, { max_size: "5 parsecs" }).message).toContain("size with its unit");
  });
});
