/** Changes of a map by calls that few programs make, or that cannot be seen: the map is that of /proc all the same. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { givenBackRanges } from "../../../src/collect/ebpf/lifecycle/gone-ranges.ts";
import { openLifecycle } from "../../../src/collect/ebpf/lifecycle/lifecycle.ts";
import { startLifecycle } from "../../../src/collect/ebpf/lifecycle/lifecycle-part.ts";
import { lifecycleWarnings } from "../../../src/collect/ebpf/lifecycle/lifecycle-warnings.ts";
import { targetsTable } from "../../../src/collect/ebpf/lifecycle/targets-table.ts";
import { PAGE_BYTES } from "../../../src/kernel/libc.ts";
import { countLooks } from "../../../src/kernel/looks.ts";
import type { MappingEvent } from "../../../src/regions/mapping-row.ts";
import { balances } from "../../../src/schema/ledger.ts";
import { createProcessTree } from "../../../src/target/process-tree.ts";
import { compileProgram } from "../../fixtures/compile.ts";
import { diffAgainstProc } from "../../fixtures/flat-maps.ts";
import { rowsAt } from "../../fixtures/ledger.ts";
import { waitUntil } from "../../fixtures/wait-until.ts";
import { type HeldTarget, holdTarget } from "./held-target.ts";

const SAID = "ready";

/** Follows a command from its first mapping on. */
async function follow(held: HeldTarget) {
  const part = await startLifecycle(held.target, createProcessTree(), countLooks());
  const rows: MappingEvent[] = [];
  part.feed.follow((fresh) => void rows.push(...fresh));
  part.begin();
  part.poll(0n);
  held.release();
  const differences = () => {
    part.poll(0n);
    const { pid } = held.target;
    return diffAgainstProc(part.feed.maps.mapsOf(pid), readFileSync(`/proc/${pid}/maps`, "utf8"));
  };
  return { part, rows, differences };
}

describe("the map is that of /proc", () => {
  for (const [kind, calls] of [
    ["protect", ["mprotect"]],
    ["attach", ["other_call", "other_call", "other_call", "other_call"]],
    ["detach", ["other_call", "mprotect", "other_call"]],
    ["advise", []],
  ] as const) {
    test(`after calls of the kind ${kind}`, async () => {
      await using held = holdTarget([compileProgram("rare-calls"), kind]);
      const { part, rows, differences } = await follow(held);
      using _part = part;
      expect(await held.line()).toBe(SAID);
      expect(await waitUntil(() => differences().length === 0, 2), differences().join("\n")).toBe(true);
      const seen = rows.filter(({ pid, kind: one }) => pid === held.target.pid && calls.includes(one as never));
      expect(seen.map((row) => row.kind).slice(-calls.length || seen.length)).toEqual([...calls]);
      part.detach();
      const { ledger } = part.stop();
      expect(ledger.filter((row) => !balances(row))).toEqual([]);
      const [calls_row] = rowsAt(ledger, { stage: "ring" });
      expect(calls_row?.filtered).toBe(kind === "advise" ? 3 : 0);
      expect(part.warnings?.()).toEqual([]);
    });
  }
});

test("pages that a program gives back by process_madvise on itself are told as by madvise, or it is said that more were", async () => {
  await using held = holdTarget([compileProgram("rare-calls"), "discard"]);
  const { part, rows } = await follow(held);
  using _part = part;
  const said = await held.line();
  expect(await held.line()).toBe(SAID);
  part.poll(0n);
  part.detach();
  const { ledger } = part.stop();
  expect(ledger.filter((row) => !balances(row))).toEqual([]);
  const given = rows.flatMap((row) =>
    row.pid === held.target.pid ? givenBackRanges(row).map(({ addr, size_bytes }) => [addr, size_bytes]) : [],
  );
  // Before Linux 6.13 such advice is refused, on oneself too.
  if (said === "refused") {
    expect(given).toEqual([]);
    return;
  }
  const page = (i: number): bigint => BigInt(said ?? "") + BigInt(PAGE_BYTES * i);
  const ours = given.filter(([addr = 0n]) => addr >= page(0) && addr < page(70));
  expect(ours.slice(0, 2)).toEqual([
    [page(0), page(2) - page(0)],
    [page(3), page(2) - page(0)],
  ]);
  expect(ours.slice(2)).toEqual(Array.from({ length: 64 }, (_, i) => [page(i), page(1) - page(0)]));
  expect(rows.filter(({ pid, kind }) => pid === held.target.pid && kind === "other_call").length).toBe(1);
});

test("ways by which bytes go past the mappings are counted, of what is traced alone, and said", async () => {
  await using held = holdTarget([compileProgram("rare-calls"), "past"]);
  const tree = createProcessTree();
  using lifecycle = await openLifecycle(held.target.pid, tree);
  lifecycle.addProcess(held.target.pid);
  held.release();
  const direct_opens = Number(await held.line());
  expect(await held.line()).toBe(SAID);
  const ways = { direct_opens, buffer_registrations: 0, splices: 1, process_copies: 2 };
  expect(lifecycle.otherWays()).toEqual(ways);
  const [sentence] = lifecycleWarnings(lifecycle);
  expect(sentence).toStartWith("bytes went past the mappings");
  // Who comes later finds what is open still.
  using later = await openLifecycle(null, tree);
  later.addProcess(held.target.pid);
  expect(later.otherWays()).toEqual({ ...ways, splices: 0, process_copies: 0 });
});

const OF_32_BITS = ["-m32", "-nostdlib", "-static", "-ffreestanding", "-fno-pie", "-no-pie"];

/** Null where there is a compiler for 32 bits and a kernel that runs what it makes. */
function no32Bits(): string | null {
  try {
    const program = compileProgram("thirty-two-bits", OF_32_BITS);
    const tried = Bun.spawnSync([program], { stdin: "ignore", stdout: "pipe" });
    return tried.stdout.toString() === "mapped\n" ? null : "the kernel runs no programs of 32 bits";
  } catch (error) {
    return String(error);
  }
}

const why = no32Bits();
if (why !== null) process.stderr.write(`skipped: ${why}\n`);

test.skipIf(why !== null)(
  "a program of 32 bits, whose calls are not seen, is said, and its map is looked at",
  async () => {
    const program = compileProgram("thirty-two-bits", OF_32_BITS);
    await using held = holdTarget([program]);
    const { part, rows, differences } = await follow(held);
    using _part = part;
    expect(await held.line()).toBe("mapped");
    for (let page = 1; page < 4; page++) {
      held.write("\n");
      expect(await held.line()).toBe("mapped");
    }
    const gaps = () => rows.filter(({ kind, pid }) => kind === "lost" && pid === held.target.pid);
    const isKnown = () => differences().length === 0 && gaps().length > 0;
    expect(await waitUntil(isKnown, 5), differences().join("\n")).toBe(true);
    expect(gaps().every(({ result }) => result === null)).toBe(true);
    part.detach();
    const { ledger } = part.stop();
    expect(rowsAt(ledger, { stage: "attach" })[0]?.dropped_by.of_32_bits).toBe(1);
    expect(part.warnings?.()).toEqual([
      "programs of 32 bits ran (1): their calls are not seen, and their maps are looked at once a second",
    ]);
  },
);

test("a process that is born while the table is full is lost, not estimated, and said", async () => {
  await using held = holdTarget(["sh", "-c", "read -r go; sleep 0 & sleep 0 & wait; echo done; read -r go"]);
  using lifecycle = await openLifecycle(held.target.pid);
  lifecycle.addProcess(held.target.pid);
  held.release();
  const targets = targetsTable(lifecycle.object.map("targets"));
  // Numbers that no process has.
  for (let left = 16_384 - targets.read().size; left > 0; left--) targets.add(2 ** 30 + left);
  held.write("go\n");
  expect(await held.line()).toBe("done");
  lifecycle.drain();
  lifecycle.detach();
  const [row] = rowsAt(lifecycle.ledger(), { stage: "attach" });
  expect(row).toMatchObject({ dropped: 2, dropped_by: { table_full: 2 }, unseen_estimate: null });
  expect(lifecycleWarnings(lifecycle)[0]).toStartWith("processes were not followed (2)");
});
