import { expect, test } from "bun:test";
import type { EngineRow } from "../../../../src/engine/engine.ts";
import { unseenBegin } from "../../../../src/engine/probing/unseen-begin.ts";
import { lostPct } from "../../../../src/schema/loss.ts";
import { nullsOf } from "../../../../src/schema/row.ts";

const ENGINE = "llama.cpp";
const { engine: _, ...nothing } = nullsOf("step");

function step(kind: "context" | "decode", time_ms: number, pid = 7): EngineRow<"step"> {
  return { ...nothing, pid, tid: pid, kind, timestamp_ns: BigInt(time_ms) * 1_000_000n };
}
/** So many batches, one each 10 ms from the begin on. */
const decodes = (n: number, begin_ms: number, pid = 7) =>
  Array.from({ length: n }, (_, i) => step("decode", begin_ms + 10 * i, pid));

test("a process that decodes before it was seen to make a context has steps that went by, as many as the gap has room for", () => {
  const begin = unseenBegin();
  begin.tellGap(ENGINE, 7, 300e6);
  begin.take(ENGINE, decodes(71, 300));
  const ledger = begin.ledger();
  expect(ledger).toMatchObject([
    { stream: "step", stage: "observe", seen: 71, kept: 71, dropped: 0, unseen_estimate: 30 },
  ]);
  expect(lostPct(ledger, "step")).toBeCloseTo((100 * 30) / 101);
  expect(lostPct(ledger, "region_map")).toBeNull();
});

test("nothing went by where a context was seen to begin, however late the probes came", () => {
  const begin = unseenBegin();
  begin.tellGap(ENGINE, 7, 3e9);
  begin.take(ENGINE, [step("context", 3100), ...decodes(50, 3200)]);
  expect(begin.ledger()).toEqual([]);
});

test("nothing is said of a process that was not seen to begin, or whose file had its probes before", () => {
  const begin = unseenBegin();
  begin.tellGap(ENGINE, 8, 0);
  begin.take(ENGINE, [...decodes(9, 0, 7), ...decodes(9, 0, 8)]);
  expect(begin.ledger()).toEqual([]);
});

test("one step that was seen stands for one at least that was not", () => {
  const begin = unseenBegin();
  begin.tellGap(ENGINE, 7, 5e6);
  begin.take(ENGINE, decodes(1, 10));
  expect(begin.ledger()).toMatchObject([{ seen: 1, unseen_estimate: 1 }]);
});

test("rows that come after the end of their process count, and the next program of its number is another one", () => {
  const begin = unseenBegin();
  begin.tellGap(ENGINE, 7, 100e6);
  begin.forget(7);
  begin.take(ENGINE, decodes(11, 100));
  begin.tellGap(ENGINE, 7, 200e6);
  begin.take(ENGINE, [step("context", 900), ...decodes(20, 1000)]);
  expect(begin.ledger()).toMatchObject([{ seen: 31, unseen_estimate: 10 }]);
});
