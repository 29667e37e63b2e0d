/** A child that lives in the memory of its parent (vfork, posix_spawn) has none of its own until its exec. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { startLifecycle } from "../../../src/collect/ebpf/lifecycle/lifecycle-part.ts";
import { countLooks } from "../../../src/kernel/looks.ts";
import { createProcessMaps } from "../../../src/regions/mapping-events.ts";
import { createProcessTree } from "../../../src/target/process-tree.ts";
import { compileProgram } from "../../fixtures/compile.ts";
import { diffAgainstProc } from "../../fixtures/flat-maps.ts";
import { waitUntil } from "../../fixtures/wait-until.ts";
import { holdTarget } from "./held-target.ts";
import { columnOf, trace } from "./traced.ts";

const program = compileProgram("lent-memory");

test("the map of the parent is that of /proc, with what the child mapped there, and the child has its own after its exec", async () => {
  await using held = holdTarget([program, compileProgram("rare-calls"), "protect"]);
  const tree = createProcessTree();
  using part = await startLifecycle(held.target, tree, countLooks());
  part.begin();
  const { pid } = held.target;
  const { maps } = part.feed;
  const differs = (of: number) => {
    part.poll(0n);
    return diffAgainstProc(maps.mapsOf(of), readFileSync(`/proc/${of}/maps`, "utf8"));
  };
  held.release();
  const child = Number(await held.line());
  expect(await waitUntil(() => differs(pid).length === 0, 2), differs(pid).join("\n")).toBe(true);
  expect([maps.mapsOf(child).length, tree.isGuest(child), tree.lives(child)]).toEqual([0, true, true]);
  held.write("\n");
  expect(await held.line()).toBe("ready");
  expect(await waitUntil(() => differs(child).length === 0, 2), differs(child).join("\n")).toBe(true);
  expect(differs(pid)).toEqual([]);
  expect([tree.isGuest(child), maps.counters.bad_rows]).toEqual([false, 0]);
});

test("what the child does is done by the parent: its calls, and its faults", async () => {
  await using traced = await trace([program]);
  const child = Number(await traced.line());
  await Bun.sleep(20);
  traced.drain();
  const [fork] = traced.rows.filter(({ child_pid }) => child_pid === child);
  expect([fork?.pid, (fork?.flags ?? 0) & 0x100]).toEqual([traced.pid, 0x100]);
  const maps = createProcessMaps();
  for (const row of traced.rows) maps.apply(row);
  expect(diffAgainstProc(maps.mapsOf(traced.pid), readFileSync(`/proc/${traced.pid}/maps`, "utf8"))).toEqual([]);
  const calls = traced.rows.filter(({ kind, tid }) => kind === "mmap" && tid === child);
  expect(calls.map(({ pid, exec_epoch, size_bytes }) => [pid, exec_epoch, size_bytes])).toEqual([
    [traced.pid, 1, 4n << 20n],
  ]);
  const [pids, tids] = ["pid", "tid"].map((name) => columnOf(traced.faults, name));
  const byChild = (pids ?? []).filter((_, i) => tids?.[i] === child);
  expect(byChild.length).toBeGreaterThan(2);
  expect([...new Set(byChild)]).toEqual([traced.pid]);
});
