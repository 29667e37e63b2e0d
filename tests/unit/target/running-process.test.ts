import { describe, expect, test } from "bun:test";
import { MrmTraceError } from "../../../src/errors.ts";
import { isRunning, runningProcess } from "../../../src/target/running-process.ts";
import { type FakeProcess, fakeProc } from "../../fixtures/fake-proc.ts";

/** A /proc of these processes; the one that asks is 50, which the shell 40 started, which process 1 did. */
function procOf(...processes: readonly FakeProcess[]): string {
  const ours: FakeProcess[] = [
    { pid: 1, ppid: 0, comm: "init" },
    { pid: 40, comm: "sh", command: ["sh", "-c", "mrm-trace attach llama"] },
    { pid: 50, ppid: 40, comm: "bun", command: ["bun", "cli.ts", "attach", "llama"] },
  ];
  return fakeProc([...ours, ...processes]);
}

const find = (word: string, ...processes: readonly FakeProcess[]) =>
  runningProcess(word, { self: 50, procRoot: procOf(...processes) });

/** Code, message and hint of the refusal. */
function refusal(word: string, ...processes: readonly FakeProcess[]): [string, string, string] {
  try {
    find(word, ...processes);
  } catch (error) {
    if (error instanceof MrmTraceError) return [error.code, error.message, error.hint];
    throw error;
  }
  throw new Error(`${word} was found`);
}

describe("a pid", () => {
  test("is that process, with its command line and what makes it one process for ever", () => {
    const command = ["/opt/llama server", "-m", "a b.gguf", ""];
    const found = find("60", { pid: 60, comm: "llama", command, start: 777 });
    expect(found).toEqual({ pid: 60, ppid: 1, start_ticks: 777n, command: command.slice(0, 3) });
  });

  test("of a process that hides its command line is shown by its name", () => {
    expect(find("60", { pid: 60, comm: "llama", command: [] }).command).toEqual(["llama"]);
  });

  test("of nobody, of what has ended, of what has no main thread and of a thread of the kernel is no target", () => {
    expect(refusal("61")).toMatchObject(["target", "there is no process 61", expect.stringContaining("pgrep")]);
    const zombie = refusal("60", { pid: 60, comm: "llama", state: "Z" });
    expect(zombie).toMatchObject([
      "target",
      "process 60 (llama) has ended and waits for its parent",
      expect.any(String),
    ]);
    const leaderless = refusal("60", { pid: 60, comm: "llama", state: "Z", threads: 3 });
    expect(leaderless).toEqual([
      "target",
      "process 60 (llama) goes on without its main thread, so that the kernel does not show its mappings",
      "trace it from its start: mrm-trace run -- COMMAND",
    ]);
    const kernel = refusal("2", { pid: 2, ppid: 0, comm: "kthreadd", kernel: true });
    expect(kernel.slice(0, 2)).toEqual([
      "target",
      "process 2 (kthreadd) is a thread of the kernel: it has no memory of its own",
    ]);
  });

  test("of a thread names the process that it belongs to", () => {
    expect(refusal("62", { pid: 62, comm: "worker", tgid: 60 })).toEqual([
      "target",
      "process 62 is a thread of process 60",
      "attach to the whole process: mrm-trace attach 60",
    ]);
  });

  test("of the tracer or of one that called it is refused, as it would trace itself", () => {
    expect(refusal("50").slice(0, 2)).toEqual(["usage", "process 50 is the tracer itself"]);
    for (const pid of ["40", "1"]) {
      expect(refusal(pid).slice(0, 2)).toEqual([
        "usage",
        `process ${pid} is an ancestor of the tracer, which would trace itself in its tree`,
      ]);
    }
  });
});

describe("a name", () => {
  test("is the whole name of a process, or the base name of its executable, and never a part of one", () => {
    expect(find("llama", { pid: 60, comm: "llama" }).pid).toBe(60);
    const long = { pid: 61, comm: "llama-server-wi", exe: "/opt/llama-server-with-all" };
    expect(find("llama-server-with-all", long).pid).toBe(61);
    expect(find("old", { pid: 62, comm: "x", exe: "/opt/old (deleted)" }).pid).toBe(62);
    for (const part of ["llam", "llama-server", "/opt/llama-server-with-all"]) {
      expect(refusal(part, long)).toMatchObject(["target", `no process is named "${part}"`, expect.any(String)]);
    }
  });

  test("is not that of the tracer, of its callers, of what has ended or of the kernel", () => {
    for (const name of ["bun", "sh", "init"]) expect(refusal(name)[0]).toBe("target");
    const others: FakeProcess[] = [
      { pid: 60, comm: "llama", state: "Z" },
      { pid: 61, comm: "llama", kernel: true },
    ];
    expect(refusal("llama", ...others)[0]).toBe("target");
    expect(find("llama", ...others, { pid: 62, comm: "llama" }).pid).toBe(62);
  });

  test("of several is the one from which all the others descend, at any depth", () => {
    const top = { pid: 90, comm: "llama" };
    const between = { pid: 91, ppid: 90, comm: "sh" };
    const below = { pid: 60, ppid: 91, comm: "llama", start: 200 };
    expect(find("llama", top, between, below, { pid: 92, ppid: 90, comm: "llama" }).pid).toBe(90);
  });

  test("of several that do not descend from one is refused with all of them, oldest first", () => {
    const several: FakeProcess[] = [
      { pid: 70, comm: "llama", command: ["llama", "b"], start: 9 },
      { pid: 71, ppid: 70, comm: "llama", command: ["llama", "c"], start: 10 },
      { pid: 60, comm: "llama", command: ["llama", "x".repeat(100)], start: 8 },
    ];
    const hostile = { command: ["llama", "--api-key", "secret", "\x1b[2J\n  fix: run this"] };
    const named = refusal("llama", { pid: 80, comm: "llama", ...hostile }, { pid: 81, comm: "llama" });
    expect(named[1]).toContain("80 llama --api-key *** ?[2J?  fix: run this; 81 llama");
    expect(refusal("llama", ...several)).toEqual([
      "usage",
      `3 processes are named "llama": 60 llama ${"x".repeat(54)}...; 70 llama b; 71 llama c`,
      "choose one by its pid, such as: mrm-trace attach 60",
    ]);
    const many = Array.from({ length: 13 }, (_, i) => ({ pid: 60 + i, comm: "llama" }));
    expect(refusal("llama", ...many)[1]).toEndWith("69 llama, and 3 more");
  });
});

test("a process is running until its number is gone, a zombie's, or another's", () => {
  const found = find("60", { pid: 60, comm: "a", start: 7 });
  expect(isRunning(found, procOf({ pid: 60, comm: "b", start: 7 }))).toBe(true);
  expect(isRunning(found, procOf({ pid: 60, comm: "a", start: 8 }))).toBe(false);
  expect(isRunning(found, procOf({ pid: 60, comm: "a", start: 7, state: "Z" }))).toBe(false);
  expect(isRunning(found, procOf())).toBe(false);
});
