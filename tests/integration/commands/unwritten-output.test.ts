/** A result that could not be written is an error; one that nobody wants to read any more is none. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { LAUNCHER } from "../../../src/runtime.ts";
import { CLI, outputFolder } from "../run/cli.ts";

const WORLD = join(outputFolder(), "world.yaml");
await Bun.write(WORLD, "run: 1s\nstrata: [{ class: weight, bytes: 1MiB, period: 10ms }]\n");

/** Runs the words with stdout as the shell says, such as `> FILE`. */
function into(stdout: string, words: readonly string[]) {
  const shell = `"$@" ${stdout}; exit "\${PIPESTATUS[0]}"`;
  const { exitCode, stderr } = Bun.spawnSync(["bash", "-c", shell, "bash", process.execPath, CLI, ...words], {
    stderr: "pipe",
    env: { ...process.env, NO_COLOR: "1" },
  });
  return { exitCode, stderr: stderr.toString() };
}

test.each([
  [["simulate", WORLD, "--seeds", "1"]],
  [["simulate", WORLD, "--seeds", "1", "--json"]],
  [["schema", "world"]],
  [["config", "default"]],
  [["--help"]],
  [["--version", "--json"]],
  [["monitor", "--pid", String(process.pid), "--max-samples", "1"]],
])("%p on a full disk is an error of the environment", (words) => {
  const { exitCode, stderr } = into("> /dev/full", words);
  expect(stderr).toContain("the result cannot be written to standard output: no space left on device");
  expect(stderr).toContain("fix: make room where it goes, or send it elsewhere");
  expect(exitCode).toBe(3);
});

test.each([
  [["config", "default"]],
  [["--help"]],
  [["schema", "world", "--json"]],
  [["monitor", "--pid", String(process.pid), "--max-samples", "1"]],
])("%p with standard output closed is an error of the environment", (words) => {
  const { exitCode, stderr } = Bun.spawnSync(["sh", "-c", '"$@" >&-', "sh", LAUNCHER, ...words], {
    stderr: "pipe",
    env: { ...process.env, NO_COLOR: "1" },
  });
  expect(stderr.toString()).toContain("the result cannot be written to standard output: it is closed");
  expect(exitCode).toBe(3);
});

test("a command that failed keeps its exit code where its words cannot be written either", () => {
  const { exitCode, stderr } = into("> /dev/full", ["simulate", "/nowhere.yaml", "--json"]);
  expect(stderr).toContain("/nowhere.yaml cannot be read");
  expect(stderr).toContain("no space left on device");
  expect(exitCode).toBe(2);
});

test.each([[["schema", "run"]], [["simulate", WORLD, "--seeds", "1"]]])(
  "%p behind a reader that leaves ends well and says nothing",
  (words) => {
    expect(into("| head -c 1 > /dev/null", words)).toEqual({ exitCode: 0, stderr: "" });
    expect(into("| true", words)).toEqual({ exitCode: 0, stderr: "" });
  },
);
