/** Watches of a process whose records were lost: its bytes may have been given away, so nothing is said of them from there on. */
import { expect, test } from "bun:test";
import { createEbpfCollector } from "../../../../src/collect/ebpf/ebpf.ts";
import type { Batch } from "../../../../src/columnar/batch.ts";
import { rowsFromBatch } from "../../../../src/columnar/rows.ts";
import { balances } from "../../../../src/schema/ledger.ts";
import { createProcessTree } from "../../../../src/target/process-tree.ts";
import { compileProgram } from "../../../fixtures/compile.ts";
import { registersFree } from "../../../fixtures/registers-free.ts";
import { waitUntil } from "../../../fixtures/wait-until.ts";
import { holdTarget } from "../held-target.ts";

const SILENCE_MS = 1000;

test("they end where the loss began, as soon as it is noticed", async () => {
  await registersFree();
  await using held = holdTarget([compileProgram("map-storm"), "4", "60000", "0"]);
  const collector = createEbpfCollector({
    budgetPct: 5,
    watchRegisters: 4,
    sources: ["watch"],
    clockHz: 100,
    seed: 1,
    engineObjects: [],
    parts: ["accesses"],
    tree: createProcessTree(),
  });
  await collector.start(held.target);
  held.release();
  const batches: Batch[] = [];
  const poll = () => {
    batches.push(...structuredClone(collector.batches()));
    collector.beforeRest?.();
  };
  const rowsOf = <T extends "mapping" | "watch">(table: T) =>
    batches.filter((batch): batch is Batch<T> => batch.table === table).flatMap((batch) => rowsFromBatch(batch));
  const sees = () => {
    poll();
    return rowsOf("watch").length > 3;
  };
  // Watches come and go; then the tracer does not come for a while, as on a machine that is too busy.
  expect(await waitUntil(sees, 20)).toBe(true);
  await Bun.sleep(SILENCE_MS);
  poll();
  const told = rowsOf("mapping").filter(({ kind }) => kind === "lost");
  expect(told.length).toBeGreaterThan(0);
  await held.kill();
  const { batches: last, ledger } = await collector.stop();
  batches.push(...last);
  expect(ledger.filter((row) => !balances(row))).toEqual([]);
  const gaps = rowsOf("mapping").filter(({ kind }) => kind === "lost");
  expect(gaps.every(({ pid, result }) => pid === held.target.pid && (result === null || result > 0n))).toBe(true);
  const ended = rowsOf("watch").filter(({ ended_by }) => ended_by === "lost");
  expect(ended.length).toBeGreaterThan(0);
  for (const { timestamp_ns, end_ns } of ended) {
    expect(
      gaps.some(({ begin_ns }) => end_ns === begin_ns || (end_ns === timestamp_ns && (begin_ns ?? 0n) < end_ns)),
    ).toBe(true);
  }
  // No watch that began before a gap says anything of the time in it.
  for (const { begin_ns, end_ns: noticed_ns } of gaps) {
    const over = rowsOf("watch").filter(
      (watch) => watch.timestamp_ns < (begin_ns ?? 0n) && watch.end_ns > (noticed_ns ?? 0n),
    );
    expect(over).toEqual([]);
  }
  expect(
    collector.warnings?.().some((warning) => warning.includes("records of mappings and processes were lost")),
  ).toBe(true);
});
