import { describe, expect, test } from "bun:test";
import { NO_SPANS, spanChains } from "../../../../src/label/kv/read-spans.ts";

const BEGINS = [10, 20, 30, 40];
const LATER = [50, 60];

describe("chains of spans", () => {
  const chains = spanChains();
  const first = chains.add(NO_SPANS, { begins: BEGINS, from: 1, until: 3 });
  const second = chains.add(first, { begins: LATER, from: 0, until: 2 });

  test("have their spans in order, how many batches these are, and when the last began", () => {
    expect(chains.list(second)).toEqual([
      { begins: BEGINS, from: 1, until: 3 },
      { begins: LATER, from: 0, until: 2 },
    ]);
    expect([chains.total(first), chains.total(second)]).toEqual([2, 4]);
    expect([chains.last_ns(first), chains.last_ns(second)]).toEqual([30, 60]);
    expect(chains.list(first)).toHaveLength(1);
  });

  test("are none for a row that nothing read, and begin at no time where their spans have no batch", () => {
    expect([chains.list(NO_SPANS), chains.total(NO_SPANS), chains.last_ns(NO_SPANS)]).toEqual([[], 0, null]);
    const empty = chains.add(NO_SPANS, { begins: BEGINS, from: 2, until: 2 });
    expect([chains.total(empty), chains.last_ns(empty)]).toEqual([0, null]);
  });

  test("are one for rows that follow each other and were read alike", () => {
    const one = chains.add(NO_SPANS, { begins: BEGINS, from: 0, until: 4 });
    expect(chains.add(NO_SPANS, { begins: BEGINS, from: 0, until: 4 })).toBe(one);
    expect(chains.add(NO_SPANS, { begins: BEGINS, from: 0, until: 3 })).not.toBe(one);
    expect(chains.add(NO_SPANS, { begins: [...BEGINS], from: 0, until: 3 })).not.toBe(one);
  });
});
