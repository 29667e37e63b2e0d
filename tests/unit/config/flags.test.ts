import { describe, expect, test } from "bun:test";
import { parseArgs } from "citty";
import { flagsOf, givenOptions, nearestFlag, optionWords, unknownFlag } from "../../../src/config/flags.ts";
import { demoSchema, ofPresentation, parseOptions, runSchema } from "../../../src/config/schema.ts";

const flags = { ...flagsOf(runSchema), ...flagsOf(demoSchema) };

/** The options of the demo that a command line gives. */
function demoOf(args: string[]) {
  return parseOptions(demoSchema, givenOptions(demoSchema, parseArgs(args, flags)));
}

describe("flags", () => {
  test("stand for every option, with its description, in kebab-case", () => {
    expect(Object.keys(flagsOf(runSchema))).toEqual(
      Object.keys(runSchema.shape).map((name) => name.replaceAll("_", "-")),
    );
    for (const flag of Object.values(flags)) expect(flag.description?.length).toBeGreaterThan(5);
  });

  test("of true or false are boolean, others take a value", () => {
    expect(flags["flash-attention"]?.type).toBe("boolean");
    expect(flags.json?.type).toBe("boolean");
    expect(flags["watch-registers"]?.type).toBe("string");
    expect(flags["run-id"]?.type).toBe("string");
  });

  test("say their default as a file would, and what is on as it is switched off", () => {
    expect(flags["max-size"]?.description).toEndWith(" [4GiB]");
    expect(flags.baseline?.description).toEndWith(" [2s]");
    expect(flags.duration?.description).not.toContain("[");
    expect(flags["flash-attention"]).toMatchObject({ negativeDescription: "off: flash attention in the demo" });
    expect(flags.json).not.toHaveProperty("negativeDescription");
  });

  test("give the options that the command line names, and the defaults of the others", () => {
    expect(demoOf(["--params", "1m", "--prompt-tokens=8"])).toMatchObject({
      params: "1m",
      prompt_tokens: 8,
      type: "q8_0",
    });
    expect(givenOptions(demoSchema, parseArgs([], flags))).toEqual({});
  });

  test("that are on are switched off by --no-", () => {
    expect(demoOf([]).flash_attention).toBe(true);
    expect(demoOf(["--no-flash-attention"]).flash_attention).toBe(false);
    expect(unknownFlag(["--no-flash-attention"], flags)).toBeNull();
  });
});

describe("a flag that is not known", () => {
  test("is found among known ones", () => {
    expect(unknownFlag(["--json", "--output", "x", "--sead", "3"], flags)).toBe("--sead");
    expect(unknownFlag(["--json", "--seed=3", "--no-json", "--watch-registers", "2", "--help"], flags)).toBeNull();
  });

  for (const flag of ["--JSON", "--seed2", "--watch_registers", "--1", "--constructor", "-j", "--no-such"]) {
    test(`is ${flag}, word for word`, () => {
      expect(unknownFlag([flag], flags)).toBe(flag);
      expect(unknownFlag([`${flag}=1`], flags)).toBe(flag);
    });
  }

  test("is not a value: negative numbers and a lone dash are left to the option before", () => {
    expect(unknownFlag(["--seed", "-1", "--output", "-", "-h"], flags)).toBeNull();
  });

  test("is answered with the nearest known one, where one is near", () => {
    expect(nearestFlag("--sead", flags)).toBe("--seed");
    expect(nearestFlag("--watch-register", flags)).toBe("--watch-registers");
    expect(nearestFlag("--watch_registers", flags)).toBe("--watch-registers");
    expect(nearestFlag("--JSON", flags)).toBe("--json");
    expect(nearestFlag("--no-flash-atention", flags)).toBe("--no-flash-attention");
    expect(nearestFlag("--something-else-entirely", flags)).toBeNull();
  });
});

const watched = runSchema.omit(ofPresentation);
const wordsOf = (given: object): string[] => optionWords(watched, parseOptions(runSchema, { ...given }));

describe("options as words of a command line", () => {
  test("are none where all are as they are by default, or only say where a run lies and how it is told", () => {
    expect(wordsOf({})).toEqual([]);
    expect(wordsOf({ output: "elsewhere", json: true, color: "never" })).toEqual([]);
  });

  test("have their units, and lists their commas", () => {
    expect(wordsOf({ duration: "1500ms", max_size: "64MiB", collector: "ebpf,memray", budget: "0.5%" })).toEqual([
      ...["--collector", "ebpf,memray", "--duration", "1500ms", "--budget", "0.5", "--max-size", "64MiB"],
    ]);
  });

  test("give the same options when they are read again", () => {
    const demo = parseOptions(demoSchema, { params: "15m", tokens: "64", flash_attention: false });
    const words = optionWords(demoSchema, demo);
    expect(words).toEqual(["--params", "15m", "--tokens", "64", "--no-flash-attention"]);
    const check = wordsOf({ check_invariance: true, ebpf: "mem:0x7f0000000008/8:rw", memray: [] });
    expect(check).toEqual(["--ebpf", "mem:0x7f0000000008/8:rw", "--memray", "", "--check-invariance"]);
  });
});
