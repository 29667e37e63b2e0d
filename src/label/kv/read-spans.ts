/** Which batches read rows, in columns: rows that were read alike, one after the other, have one chain of spans. */
import { uint32Column } from "../../columnar/growing-column.ts";
import type { ReadSpan } from "./kv-token.ts";

/** The chain without a span. */
export const NO_SPANS = 0;

export interface SpanChains {
  /** A chain with one span more behind it. */
  add(chain: number, span: ReadSpan): number;
  /** In order; the same list again for the chain of the call before. */
  list(chain: number): readonly ReadSpan[];
  total(chain: number): number;
  /** Begin of the last batch; null for none. */
  last_ns(chain: number): number | null;
}

const NOTHING: readonly ReadSpan[] = [];

export function spanChains(): SpanChains {
  const allBegins: (readonly number[])[] = [];
  const numbers = new Map<readonly number[], number>();
  const [beginsAt, fromAt, untilAt] = [uint32Column(), uint32Column(), uint32Column()];
  const [spanAt, previousAt] = [uint32Column(), uint32Column()];
  let newest = NO_SPANS;
  let spans = 0;
  let listed = NO_SPANS;
  let list = NOTHING;

  function numberOf(begins: readonly number[]): number {
    let number = numbers.get(begins);
    if (number === undefined) {
      number = allBegins.push(begins) - 1;
      numbers.set(begins, number);
    }
    return number;
  }

  /** Number of a span, which is that of the row before where that was read by the same batches. */
  function spanOf({ begins, from, until }: ReadSpan): number {
    const last = spans - 1;
    const isAlike =
      last >= 0 && fromAt.get(last) === from && untilAt.get(last) === until && allBegins[beginsAt.get(last)] === begins;
    if (isAlike) return last;
    beginsAt.set(spans, numberOf(begins));
    fromAt.set(spans, from);
    untilAt.set(spans, until);
    return spans++;
  }

  const lengthOf = (span: number): number => untilAt.get(span) - fromAt.get(span);

  return {
    add(chain, given) {
      const span = spanOf(given);
      if (newest !== NO_SPANS && previousAt.get(newest) === chain && spanAt.get(newest) === span) return newest;
      newest += 1;
      spanAt.set(newest, span);
      previousAt.set(newest, chain);
      return newest;
    },
    list(chain) {
      if (chain === NO_SPANS) return NOTHING;
      if (chain === listed) return list;
      const found: ReadSpan[] = [];
      for (let one = chain; one !== NO_SPANS; one = previousAt.get(one)) {
        const span = spanAt.get(one);
        found.push({ begins: allBegins[beginsAt.get(span)] ?? [], from: fromAt.get(span), until: untilAt.get(span) });
      }
      listed = chain;
      list = found.reverse();
      return list;
    },
    total(chain) {
      let sum = 0;
      for (let one = chain; one !== NO_SPANS; one = previousAt.get(one)) sum += lengthOf(spanAt.get(one));
      return sum;
    },
    last_ns(chain) {
      for (let one = chain; one !== NO_SPANS; one = previousAt.get(one)) {
        const span = spanAt.get(one);
        if (lengthOf(span) > 0) return allBegins[beginsAt.get(span)]?.[untilAt.get(span) - 1] ?? null;
      }
      return null;
    },
  };
}
