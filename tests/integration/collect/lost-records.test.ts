import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { openLifecycle } from "../../../src/collect/ebpf/lifecycle/lifecycle.ts";
import { createProcessMaps } from "../../../src/regions/mapping-events.ts";
import type { MappingEvent } from "../../../src/regions/mapping-row.ts";
import { balances } from "../../../src/schema/ledger.ts";
import { createProcessTree } from "../../../src/target/process-tree.ts";
import { compileProgram } from "../../fixtures/compile.ts";
import { rowsAt } from "../../fixtures/ledger.ts";
import { isRunning, waitUntil } from "../../fixtures/wait-until.ts";
import { holdTarget } from "./held-target.ts";

/** First addresses of executable mappings by /proc. */
function executable(pid: number): string[] {
  const lines = readFileSync(`/proc/${pid}/maps`, "utf8").split("\n");
  return lines.flatMap((line) => (/^\S+ ..x/.test(line) && !line.includes("[v") ? [line.split("-")[0] ?? ""] : []));
}

test("births, execs and ends whose records found no room are found, and the maps are those of /proc", async () => {
  const storm = compileProgram("map-storm");
  // The shell itself becomes another program once the ring is full, after it has started one more.
  const script = '"$1" 4 2500 0 >&2 & sleep 1.5; sleep 60 & echo "$!"; exec sleep 61';
  await using held = holdTarget(["sh", "-c", script, "sh", storm]);
  const root = held.target.pid;
  const tree = createProcessTree();
  using lifecycle = await openLifecycle(root, tree);
  lifecycle.addProcess(root);
  lifecycle.drain();
  held.release();
  const born = Number(await held.line());
  try {
    const [last] = readFileSync(`/proc/${root}/task/${root}/children`, "utf8").split(" ").map(Number);
    expect(last).not.toBe(born);
    expect(await waitUntil(() => !isRunning(last ?? 0))).toBe(true);
    const maps = createProcessMaps({});
    const rows: MappingEvent[] = [];
    const settled = () => {
      const fresh = lifecycle.drain();
      for (const row of fresh) maps.apply(row);
      rows.push(...fresh);
      for (const pid of maps.pidsNeedingSnapshot()) lifecycle.requestSnapshot(pid);
      return tree.living().length === 2 && [root, born].every((pid) => maps.mapsOf(pid).length > 0);
    };
    expect(await waitUntil(settled)).toBe(true);
    for (let i = 0; i < 5; i++) settled();
    expect(tree.living().sort()).toEqual([root, born].sort());
    expect(rows.filter(({ kind, pid }) => kind === "exit" && pid === last).length).toBe(1);
    expect(rows.filter(({ kind, pid }) => kind === "exec" && pid === root).at(-1)?.exec_epoch).toBe(2);
    for (const pid of [root, born]) {
      const found = maps.mapsOf(pid).filter(({ prot, path }) => (prot & 4) !== 0 && !path?.startsWith("[v"));
      expect(found.map(({ addr }) => addr.toString(16).padStart(8, "0"))).toEqual(executable(pid));
    }
    expect(lifecycle.found.births).toBeGreaterThan(0);
    expect(lifecycle.found.execs).toBeGreaterThan(0);
    expect(lifecycle.found.ends).toBeGreaterThan(0);
    const ledger = lifecycle.ledger();
    expect(rowsAt(ledger, { stage: "ring" })[0]?.dropped_by.ring_full).toBeGreaterThan(0);
    expect(ledger.filter((row) => !balances(row))).toEqual([]);
  } finally {
    process.kill(born, "SIGKILL");
  }
});
