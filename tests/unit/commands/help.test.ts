import { describe, expect, test } from "bun:test";
import { parseArgs } from "citty";
import packageJson from "../../../package.json" with { type: "json" };
import { fullVerbHelp, HELP_COLUMNS, HELP_LINES, programHelp, verbHelp } from "../../../src/commands/help.ts";
import { verb } from "../../../src/commands/verb.ts";
import { COMMON_VERBS, loadVerbs } from "../../../src/commands/verbs.ts";
import { unknownFlag } from "../../../src/config/flags.ts";

const all = await loadVerbs();
const verbs = Object.entries(all);

/** The words of a command line without quotes: own ones, and those behind --. */
function wordsOf(example: string): string[] {
  const words = example.split(" ");
  return words.includes("--") ? words.slice(0, words.indexOf("--")) : words;
}

describe("--help", () => {
  test("fits a terminal of 24 lines and 80 columns, with the prompt", () => {
    expect([HELP_LINES, HELP_COLUMNS]).toEqual([23, 80]);
  });

  test.each(verbs)("of %s fits a screen and says what it does", (name, one) => {
    const lines = verbHelp(name, one).trimEnd().split("\n");
    expect(lines.length).toBeLessThanOrEqual(HELP_LINES);
    for (const line of lines) expect([line, line.length <= HELP_COLUMNS]).toEqual([line, true]);
    expect(lines.join(" ")).toContain(one.description.slice(0, 40));
  });

  test.each(verbs)("of %s names every option, and explains those that are common", (name, one) => {
    const text = verbHelp(name, one);
    const options = Object.entries(one.args).filter(([, arg]) => arg.type !== "positional");
    for (const [key] of options) expect(text).toMatch(new RegExp(`--(no-)?${key}\\b`));
    expect(one.common ?? []).toEqual((one.common ?? []).filter((key) => key in one.args));
    for (const key of one.common ?? options.map(([key]) => key)) {
      expect(text).toMatch(new RegExp(`^  --(no-)?${key}\\b.*  \\S`, "m"));
    }
    expect(text.includes("--help-all")).toBe(one.common !== null);
  });

  test.each(verbs)("of %s has a long form with every option and its text", (name, one) => {
    const text = fullVerbHelp(name, one);
    for (const [key, arg] of Object.entries(one.args)) {
      expect(text).toMatch(
        arg.type === "positional"
          ? new RegExp(`^  ${key.toUpperCase()} `, "m")
          : new RegExp(`^  --(no-)?${key}\\b`, "m"),
      );
      expect([key, (arg.description ?? "").length > 5]).toEqual([key, true]);
    }
  });

  test.each(verbs)("of %s has an example that its options take", (name, one) => {
    expect(verbHelp(name, one)).toContain(`example: ${one.example}\n`);
    const [program, said, ...rest] = wordsOf(one.example);
    expect([program, said]).toEqual(["mrm-trace", name]);
    expect(unknownFlag(rest, one.args)).toBeNull();
    expect(one.example.includes(" -- ")).toBe(one.takesCommand);
    const args = parseArgs(rest, one.args);
    for (const [key, arg] of Object.entries(one.args)) {
      const given = args[key];
      if (given === undefined || !arg.valueHint?.includes("|")) continue;
      expect(arg.valueHint.split("|")).toContain(String(given));
    }
    const positionals = Object.values(one.args).filter((arg) => arg.type === "positional");
    expect(args._.length).toBeLessThanOrEqual(positionals.length);
  });

  test("of the program fits a screen, explains the common verbs and names every other", () => {
    const text = programHelp(packageJson.description, all, COMMON_VERBS);
    const lines = text.trimEnd().split("\n");
    expect(lines.length).toBeLessThanOrEqual(HELP_LINES);
    expect(lines.filter((line) => line.length > HELP_COLUMNS)).toEqual([]);
    expect(COMMON_VERBS.filter((name) => !(name in all))).toEqual([]);
    for (const name of COMMON_VERBS) expect(text).toMatch(new RegExp(`^  ${name} `, "m"));
    const named = lines.slice(lines.findIndex((line) => line.startsWith("also: "))).join(" ");
    for (const [name] of verbs) if (!COMMON_VERBS.includes(name)) expect(named).toContain(` ${name} `);
  });

  test("of the program has a long form with every verb", () => {
    const text = programHelp(packageJson.description, all, null);
    for (const [name] of verbs) expect(text).toMatch(new RegExp(`^  ${name} `, "m"));
    expect(text.split("\n").filter((line) => line.length > HELP_COLUMNS)).toEqual([]);
  });

  test("of a verb with many options has them by task, each once, with examples that it takes", () => {
    const { run } = all;
    if (run?.groups == null) throw new Error("the options of run have no groups");
    const text = fullVerbHelp("run", run);
    const options = Object.entries(run.args).filter(([, arg]) => arg.type !== "positional");
    expect(run.groups.flatMap((group) => [...group.options]).sort()).toEqual(options.map(([key]) => key).sort());
    for (const { task, example = "" } of run.groups) {
      expect(text).toContain(`\n${task}:\n`);
      expect(unknownFlag(wordsOf(example).slice(2), run.args)).toBeNull();
    }
    expect(text.split("\n").filter((line) => line.length > HELP_COLUMNS)).toEqual([]);
  });

  test.each(verbs)("of %s names what may stand behind each option", (name, one) => {
    expect(fullVerbHelp(name, one)).not.toMatch(/\b(?:VALUE|TEXT)\b/);
  });

  test("wraps a long text behind its column", () => {
    const long = verb(
      {
        meta: { description: "d" },
        args: { x: { type: "string", valueHint: "N", description: "word ".repeat(40).trim() } },
      },
      "mrm-trace long",
    );
    const lines = verbHelp("long", long).split("\n");
    expect(lines.filter((line) => line.startsWith("         word"))).toHaveLength(2);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(HELP_COLUMNS);
  });
});
