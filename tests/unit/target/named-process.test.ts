import { describe, expect, test } from "bun:test";
import { namedProcesses, processOf } from "../../../src/target/named-process.ts";
import { type FakeProcess, fakeProc } from "../../fixtures/fake-proc.ts";

/** A /proc of these processes; the one that asks is 50, started by the shell 40. */
function procOf(...processes: readonly FakeProcess[]): string {
  const ours: FakeProcess[] = [
    { pid: 40, command: ["sh", "-c", "mrm-trace monitor --name ollama"] },
    { pid: 50, ppid: 40, command: ["bun", "cli.ts", "monitor", "--name", "ollama"] },
    { pid: 51, ppid: 50, command: ["helper", "of-ollama"] },
  ];
  return fakeProc([...ours, ...processes]);
}

const named = (root: string): number[] => namedProcesses("ollama", 50, root).map(({ pid }) => pid);

describe("the process that a name means", () => {
  test("is never the one that asks, its callers, its children or another monitor", () => {
    expect(named(procOf({ pid: 60, command: ["bun", "cli.ts", "monitor", "--name=ollama"] }))).toEqual([]);
  });

  test("is a program of that name before one whose command line holds it", () => {
    const editor = { pid: 60, command: ["vim", "ollama.txt"] };
    expect(named(procOf(editor))).toEqual([60]);
    expect(named(procOf(editor, { pid: 70, command: ["/usr/bin/ollama", "serve"], comm: "ollama" }))).toEqual([70]);
  });

  test("is the root of its tree, and the oldest of several", () => {
    const serve = { pid: 70, command: ["ollama", "serve"] };
    const runner = { pid: 71, ppid: 70, command: ["ollama", "runner"] };
    const older = { pid: 90, command: ["ollama", "serve"], start: 5 };
    expect(named(procOf(serve, runner, older))).toEqual([90, 70]);
  });

  test("is no zombie and no kernel thread", () => {
    expect(
      named(procOf({ pid: 60, command: ["ollama"], state: "Z" }, { pid: 61, comm: "ollama", command: [] })),
    ).toEqual([]);
  });

  test("is found by its number too, as long as it lives", () => {
    const root = procOf({ pid: 60, command: ["ollama"], state: "Z" });
    expect(processOf(51, root)).toEqual({ pid: 51, start_ticks: 51n, comm: "helper" });
    expect(processOf(60, root)).toBeNull();
    expect(processOf(99, root)).toBeNull();
  });
});
