import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { openFaults } from "../../../src/collect/ebpf/faults/faults.ts";
import { openLifecycle } from "../../../src/collect/ebpf/lifecycle/lifecycle.ts";
import { watchTree } from "../../../src/collect/ebpf/lifecycle/running-tree.ts";
import { treeAffinityCpus } from "../../../src/collect/ebpf/watch/tree-cpus.ts";
import type { Batch } from "../../../src/columnar/batch.ts";
import { onlineCpus } from "../../../src/kernel/cpus.ts";
import { createProcessMaps } from "../../../src/regions/mapping-events.ts";
import type { MappingEvent } from "../../../src/regions/mapping-row.ts";
import { balances, placeWords } from "../../../src/schema/ledger.ts";
import { diffAgainstProc } from "../../fixtures/flat-maps.ts";
import { type Area, startLiveTree } from "../../fixtures/live-tree.ts";
import { recordedMaps } from "../../fixtures/recorded-maps.ts";
import { isRunning, waitUntil } from "../../fixtures/wait-until.ts";
import { columnOf } from "./traced.ts";

/** Attaches to a tree that runs, lets it work twice, and ends watching it. */
async function attached() {
  await using tree = await startLiveTree();
  using lifecycle = await openLifecycle(null);
  using faultSource = await openFaults(lifecycle.targetsFd);
  const pids = watchTree(tree.pid, lifecycle);
  const rows: MappingEvent[] = [...lifecycle.drain()];
  const first = await tree.again();
  rows.push(...lifecycle.drain());
  const areas = [...first, ...(await tree.again())];
  const faults: Batch<"fault">[] = structuredClone(faultSource.drain());
  rows.push(...lifecycle.drain());
  const living = [...new Set(areas.map(({ pid }) => pid))];
  const texts = new Map(living.map((pid) => [pid, readFileSync(`/proc/${pid}/maps`, "utf8")]));
  rows.push(...lifecycle.drain());
  lifecycle.leave();
  const afterwards = await tree.again();
  faults.push(...structuredClone(faultSource.drain()));
  const late = lifecycle.drain();
  faultSource.detach();
  lifecycle.detach();
  const ledger = [...lifecycle.ledger(), ...faultSource.ledger()];
  const { pid, childPid, file } = tree;
  return { root: pid, childPid, file, pids, rows, areas, faults, texts, living, afterwards, late, ledger };
}

const run = await attached();

function faultsIn({ pid, addr, pages }: Area): number {
  const at = columnOf(run.faults, "address").map(BigInt);
  const who = columnOf(run.faults, "pid").map(Number);
  return at.filter((a, i) => who[i] === pid && a >= addr && a < addr + BigInt(4096 * pages)).length;
}

describe("a tree that runs already", () => {
  test("is watched whole: the process, the child that it had, and those that it forks later", () => {
    expect(run.pids.sort()).toEqual([run.root, run.childPid].sort());
    const forked = run.rows.filter(({ kind }) => kind === "fork").map(({ child_pid }) => child_pid);
    expect(run.living.sort()).toEqual([run.root, run.childPid, ...forked.map(Number)].sort());
    expect(forked).toHaveLength(2);
  });

  test("has the map that /proc/PID/maps shows at the end, in every process", () => {
    const maps = createProcessMaps({});
    for (const row of run.rows) maps.apply(row);
    expect(maps.counters.bad_rows).toBe(0);
    for (const [pid, text] of run.texts) expect([pid, diffAgainstProc(maps.mapsOf(pid), text)]).toEqual([pid, []]);
  });

  test("has the names of what threads map that were there before", () => {
    const named = run.rows.filter(({ kind, path }) => kind === "file" && path === run.file);
    const threads = new Set(run.areas.map(({ tid }) => tid));
    expect(threads.size).toBe(3 + 1 + 1 + 2);
    expect(new Set(named.map(({ tid }) => tid))).toEqual(threads);
  });

  test("has nothing of other processes", () => {
    const known = new Set(run.living);
    expect(run.rows.filter(({ pid }) => !known.has(pid))).toEqual([]);
  });

  test("says of what was there that its birth is not known, and of what came later when it came", () => {
    const maps = recordedMaps();
    for (const row of run.rows) maps.apply(row);
    const lives = maps.lifetimes();
    const program = lives.filter(({ path }) => path?.endsWith("/live-tree"));
    expect(
      program.filter(({ pid }) => run.pids.includes(pid)).map(({ birth_censored }) => birth_censored),
    ).not.toContain(false);
    for (const { pid, addr } of run.areas) {
      // glibc's next area may stand beside it, as one mapping.
      const life = lives.find((row) => row.pid === pid && row.addr <= addr && addr < row.addr + row.size_bytes);
      expect(life?.birth_censored).toBe(false);
    }
  });

  test("has one fault for each page that any thread writes to, and none once it is left", () => {
    for (const area of run.areas) expect([area.tid, faultsIn(area)]).toEqual([area.tid, area.pages]);
    for (const area of run.afterwards) expect([area.tid, faultsIn(area)]).toEqual([area.tid, 0]);
    expect(run.late).toEqual([]);
  });

  test("leaves a ledger that balances, without a loss", () => {
    for (const row of run.ledger)
      expect([placeWords(row), balances(row), row.dropped]).toEqual([placeWords(row), true, 0]);
  });
});

test("the CPUs of a tree are those of all its threads, not of the first alone", async () => {
  await using tree = await startLiveTree();
  expect(treeAffinityCpus(tree.pid)).toEqual(onlineCpus());
  Bun.spawnSync(["taskset", "-p", "-c", "0", String(tree.pid)]);
  expect(treeAffinityCpus(tree.pid)).toEqual(onlineCpus());
  Bun.spawnSync(["taskset", "-a", "-p", "-c", "0", String(tree.pid)]);
  Bun.spawnSync(["taskset", "-a", "-p", "-c", "0", String(tree.childPid)]);
  expect(treeAffinityCpus(tree.pid)).toEqual([0]);
});

test("a child that ended without being waited for is not watched", async () => {
  const shell = Bun.spawn(["sh", "-c", "sleep 0 & echo $!; exec sleep 30"], { stdout: "pipe" });
  const { value } = await shell.stdout.getReader().read();
  const zombie = Number(new TextDecoder().decode(value));
  expect(await waitUntil(() => !isRunning(zombie))).toBe(true);
  using lifecycle = await openLifecycle(null);
  expect(watchTree(shell.pid, lifecycle)).toEqual([shell.pid]);
  expect([shell.pid, zombie].map(lifecycle.watches)).toEqual([true, false]);
  shell.kill("SIGKILL");
  await shell.exited;
  expect(watchTree(shell.pid, lifecycle)).toEqual([]);
});
