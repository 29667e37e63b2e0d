import { expect, test } from "bun:test";
import fc from "fast-check";
import { accessRows, addWord, FACTS, makeRoom, wordLists } from "../../../../src/label/capture/access-rows.ts";
import { timeOrder } from "../../../../src/label/capture/time-order.ts";
import { hitGatherer, watchHits } from "../../../../src/label/capture/watch-hits.ts";
import { opOf } from "../../../../src/schema/operation.ts";
import type { RowOf } from "../../../../src/schema/row.ts";

const ORIGIN = (7n << 32n) - 3n;
const row = fc.record({
  time: fc.oneof(fc.nat(50), fc.nat(2 ** 31)),
  cpu: fc.nat(2),
  watch: fc.option(fc.nat(3)),
  op: fc.constantFrom("load", "store", "load_store", "unknown", "of another day"),
  source: fc.constantFrom("watch", "pebs", "of another day"),
});
const watch = fc.record({ watch_id: fc.nat(4), begin: fc.nat(60), length: fc.oneof(fc.nat(60), fc.constant(2 ** 32)) });

const WATCH: RowOf<"watch"> = {
  timestamp_ns: 0n,
  end_ns: 0n,
  watch_id: 0,
  pid: 1,
  addr: 2n,
  size_bytes: 8,
  mode: "rw",
  design: "short",
  stratum: "weight",
  region_type: "weight",
  tensor: null,
  stratum_bytes: 8n,
  inclusion_probability: 1,
  draw_weight: 1,
  trap_limit: 8,
  dwell_limit_ns: 1n,
  n_hits: 0,
  n_foreign: 0,
  n_kernel: 0,
  ended_by: "dwell",
  n_registers: 1,
  n_accesses: null,
};

test("a watch has the hits inside its exposure, in order of time and CPU, whatever else was captured", () => {
  fc.assert(
    fc.property(fc.array(fc.array(row, { maxLength: 30 }), { maxLength: 4 }), fc.array(watch), (parts, watches) => {
      const lists = wordLists();
      const gatherer = hitGatherer(ORIGIN);
      const expected: { watch: number | null; time: number; op: number }[] = [];
      for (const part of parts) {
        const rows = accessRows();
        makeRoom(rows, part.length);
        rows.rows = part.length;
        const { timestamp, cpu, watch: watchWords, facts } = rows.words;
        for (const [i, one] of part.entries()) {
          const time = ORIGIN + BigInt(one.time);
          timestamp[2 * i] = Number(time & 0xffffffffn);
          timestamp[2 * i + 1] = Number(time >> 32n);
          cpu[i] = one.cpu;
          watchWords[i] = one.watch ?? 0;
          const source = addWord(lists.sources, one.source) << FACTS.SOURCE_SHIFT;
          facts[i] = addWord(lists.ops, one.op) | source | (one.watch === null ? 0 : FACTS.HAS_WATCH);
        }
        gatherer.add(rows, timeOrder(timestamp, cpu, part.length), lists);
        const inOrder = [...part].sort((a, b) => a.time - b.time || a.cpu - b.cpu);
        for (const one of inOrder) {
          if (one.source === "watch") expected.push({ watch: one.watch, time: one.time, op: opOf(one.op) });
        }
      }
      const rows = watches.map(({ watch_id, begin, length }) => ({
        ...WATCH,
        watch_id,
        timestamp_ns: ORIGIN + BigInt(begin),
        end_ns: ORIGIN + BigInt(begin + length),
      }));
      const found = watchHits(rows, gatherer.hits, ORIGIN);
      for (const [i, { watch_id, begin, length }] of watches.entries()) {
        const own = expected.filter((hit) => hit.watch === watch_id && hit.time >= begin && hit.time <= begin + length);
        expect([...(found[i]?.hit_ns ?? [])]).toEqual(own.map(({ time }) => time));
        expect([...(found[i]?.hit_op ?? [])]).toEqual(own.map(({ op }) => op));
      }
    }),
  );
});
