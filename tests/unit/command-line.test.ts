import { afterAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unknownVerb } from "../../src/command-line.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-verb-"));
afterAll(() => rmSync(folder, { recursive: true }));
const told = (...args: string[]): string[] => {
  const { message, hint } = unknownVerb(args);
  return [message, hint];
};

test("a verb that is misspelt has the one that is meant", () => {
  expect(told("runn", "--", "x")).toEqual(['unknown command "runn"', "did you mean run?"]);
});

test("a program is traced by run, whether it is on PATH, is named by its path, or stands behind --", () => {
  const program = join(folder, "in fer");
  writeFileSync(program, "");
  chmodSync(program, 0o755);
  expect(told(program, "-m", "x y.gguf")).toEqual([
    `unknown command "${program}"`,
    `to trace it: mrm-trace run -- '${program}' -m 'x y.gguf'`,
  ]);
  expect(told("sleep", "2")).toEqual(['unknown command "sleep"', "to trace it: mrm-trace run -- sleep 2"]);
  expect(told("--", "sleep", "2")).toEqual(["no command given", "to trace it: mrm-trace run -- sleep 2"]);
});

test("a pid is attached to, and the folder of a run shown", () => {
  expect(told("4711")).toEqual(['unknown command "4711"', "to trace a process that runs: mrm-trace attach 4711"]);
  mkdirSync(join(folder, "run/capture"), { recursive: true });
  const run = join(folder, "run");
  expect(told(run)).toEqual([`unknown command "${run}"`, `to see what a run told: mrm-trace show ${run}`]);
});

test("an option without a command is told as that, with where its place is", () => {
  expect(told("--duration", "3s", "--", "x")).toEqual([
    "no command stands before --duration",
    "name it first, such as: mrm-trace run --duration 3s -- x",
  ]);
  expect(told("-v")).toEqual(["no command stands before -v", "did you mean: mrm-trace --version?"]);
  expect(told("--foo")[1]).toBe("name it first, such as: mrm-trace run");
});

test("all else has the commands that there are", () => {
  for (const args of [[], ["nope-nothing"], [folder], ["__proto__"]]) {
    expect(told(...args)[1]).toStartWith("use one of run, attach, ");
  }
  expect(told()[0]).toBe("no command given");
});
