import { describe, expect, test } from "bun:test";
import { createEbpfCollector } from "../../../src/collect/ebpf/ebpf.ts";
import { openLifecycle } from "../../../src/collect/ebpf/lifecycle/lifecycle.ts";
import { snapshotRows } from "../../../src/collect/ebpf/lifecycle/maps-look.ts";
import { MrmTraceError } from "../../../src/errors.ts";
import type { BpfCost } from "../../../src/kernel/bpf-costs.ts";
import { createProcessTree } from "../../../src/target/process-tree.ts";
import { compileProgram } from "../../fixtures/compile.ts";
import { isRunning, waitUntil } from "../../fixtures/wait-until.ts";
import { heldNow, holdTarget } from "./held-target.ts";
import { trace } from "./traced.ts";

const OPTIONS = { budgetPct: 1, watchRegisters: 0, sources: ["auto"], seed: 1, clockHz: 100, engineObjects: [] };

describe("a process number that is given again", () => {
  const program = compileProgram("reuse-pid");

  test("begins at the epoch of a process that has not made an exec", async () => {
    await using traced = await trace([program, program]);
    const pid = Number(await traced.line());
    expect(pid).toBeGreaterThan(0);
    await traced.finish();
    const exitsSeen = () => traced.rows.filter((row) => row.pid === pid && row.kind === "exit");
    expect(await waitUntil(() => exitsSeen().length === 2)).toBe(true);
    const mine = traced.rows.filter((row) => row.pid === pid);
    const exits = exitsSeen();
    expect(exits.map((row) => row.exec_epoch)).toEqual([1, 0]);
    const first = exits[0]?.timestamp_ns ?? 0n;
    const names = mine.filter((row) => row.kind === "file" && row.timestamp_ns > first);
    expect(names.map((row) => [row.path, row.exec_epoch])).toEqual([[program, 0]]);
  });

  test("is a process that has not ended, though the first of that number has", async () => {
    await using held = holdTarget([program, program]);
    const tree = createProcessTree();
    const collector = createEbpfCollector({ ...OPTIONS, tree });
    await using _stopping = { [Symbol.asyncDispose]: async () => void (await collector.stop()) };
    await collector.start(held.target);
    held.release();
    const pid = Number(await held.line());
    const drained = () => {
      collector.batches();
      return tree.pids().includes(pid);
    };
    expect(await waitUntil(drained)).toBe(true);
    // The parent ends by itself; what runs on is the second child, until its stdin ends.
    expect(await waitUntil(() => !isRunning(held.target.pid))).toBe(true);
    collector.batches();
    expect(tree.hasEnded()).toBe(false);
    const ended = () => {
      collector.batches();
      return tree.hasEnded();
    };
    await held.finish();
    expect(await waitUntil(ended)).toBe(true);
  });
});

describe("how long the collector can wait between two looks", () => {
  for (const [parts, patience_ms] of [
    [["faults"], Infinity],
    [["faults", "engine"], 20],
    [["accesses"], 20],
  ] as const) {
    test(`is ${patience_ms} ms where it records ${parts.join(" and ")}`, async () => {
      await using held = holdTarget(["true"]);
      const collector = createEbpfCollector({ ...OPTIONS, watchRegisters: 1, parts, tree: createProcessTree() });
      await using _stopping = { [Symbol.asyncDispose]: async () => void (await collector.stop()) };
      await collector.start(held.target);
      expect(collector.patienceMs?.()).toBe(patience_ms);
    });
  }
});

test("a part that was not asked for is not loaded, and every part says what its events cost", async () => {
  await using held = holdTarget(["sh", "-c", "echo; read -r line"]);
  const collector = createEbpfCollector({ ...OPTIONS, parts: ["faults"], tree: createProcessTree() });
  await using _stopping = { [Symbol.asyncDispose]: async () => void (await collector.stop()) };
  await collector.start(held.target);
  held.release();
  await held.line();
  // Its map is looked at while it lives.
  collector.batches();
  await held.finish();
  await Bun.sleep(1000);
  collector.batches();
  await Bun.sleep(100);
  collector.batches();
  await collector.stop();
  const costs = collector.costs?.() ?? [];
  expect(costs.map(({ what }) => what).sort()).toEqual(["faults recorded", "looks at maps", "mapping calls"]);
  for (const { count, each_ns } of costs) {
    expect(count).toBeGreaterThan(0);
    expect(each_ns.value).toBeGreaterThan(0);
  }
  const programs = (collector.details?.().bpf_programs ?? []) as readonly BpfCost[];
  expect([...new Set(programs.map(({ object }) => object))].sort()).toEqual(["faults", "lifecycle"]);
  expect(collector.details?.()).toMatchObject({ watch: null, samples: null, clock: null });
});

test("of the shell that holds a command before its exec nothing is in the map, however long that takes", async () => {
  await using held = holdTarget([compileProgram("walk-array"), "0", "60"]);
  const pid = held.target.pid;
  using lifecycle = await openLifecycle(pid);
  lifecycle.addProcess(pid);
  expect(lifecycle.drain()).toEqual([]);
  held.release();
  await held.line();
  const rows = lifecycle.drain();
  const exec = rows.find(({ kind }) => kind === "exec");
  const looked = rows.filter(({ kind }) => kind === "snapshot");
  expect(looked.length).toBeGreaterThan(0);
  expect(looked.filter(({ exec_epoch }) => exec_epoch !== exec?.exec_epoch)).toEqual([]);
});

describe("a target that dies while everything is being attached", () => {
  for (const after_ms of [0, 10, 20, 40, 80, 160]) {
    test(`after ${after_ms} ms is either refused or seen to have ended`, async () => {
      await using held = holdTarget(["sleep", "60"]);
      const tree = createProcessTree();
      const collector = createEbpfCollector({ ...OPTIONS, tree });
      const before = heldNow();
      const starting = collector.start(held.target).catch((error: unknown) => error);
      await Bun.sleep(after_ms);
      await held.kill();
      const error = await starting;
      if (error === undefined) {
        const ended = () => {
          collector.batches();
          return tree.hasEnded();
        };
        const seen = await waitUntil(ended);
        await collector.stop();
        expect(seen).toBe(true);
      } else {
        expect(error).toBeInstanceOf(MrmTraceError);
        expect(heldNow().kernelObjects).toEqual(before.kernelObjects);
      }
    });
  }

  test("is told to have ended when it is gone before its first mapping is looked at", async () => {
    await using held = holdTarget(["true"]);
    const { pid } = held.target;
    await held.kill();
    expect(snapshotRows(pid, 0)).toBeNull();
    expect(snapshotRows(process.pid, 3)?.at(-1)).toMatchObject({ kind: "snapshot_end", exec_epoch: 3 });
  });
});
