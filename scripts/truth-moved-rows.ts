/** Holds the rows of caches that move for every pass against what the program itself says of each: position, pass that wrote it, passes that had it, end. */
import { openRun } from "../src/api/open-run.ts";
import { without } from "./truth-caches.ts";
import type { SaidMoves } from "./truth-moves.ts";

export interface RowJudgement {
  /** Rows of keys and values of each layer and sequence that must be told, and those that are otherwise or missing. */
  readonly rows: number;
  readonly missing: number;
  /** Rows that are told and are none of the program's as they are told. */
  readonly wrong: number;
  /** Of the rows those that were there when their cache was reordered, which must not be told. */
  readonly untold: number;
}

type Row = Readonly<Record<string, unknown>>;

/** @param goesOn caches that were not there from the first step to the last are not asked for */
export function judgeMovedRows(runDir: string, said: SaidMoves, goesOn: boolean): RowJudgement {
  using opened = openRun(runDir);
  const table = (name: "step" | "kv_block_lifecycle"): readonly Row[] =>
    opened.table(name).toArray() as unknown as Row[];
  const begins = table("step")
    .filter(({ kind }) => kind === "decode")
    .map(({ timestamp_ns }) => Number(timestamp_ns))
    .sort((one, other) => one - other);
  const [from, until] = goesOn ? [begins.at(0) ?? 0, begins.at(-1) ?? 0] : [0, Number.POSITIVE_INFINITY];
  // A pass is named by its step: the one that begins in it.
  const times = said.forwards.map(([, begin, ends]) => begins.find((time) => time >= begin && time <= ends) ?? begin);
  const truth: { text: string; isAsked: boolean; isTold: boolean }[] = said.caches.flatMap((cache, number) => {
    const passes = said.forwards.flatMap(([one], i) => (one === number ? [i] : []));
    const isAsked = cache.made >= from && cache.gone <= until;
    return cache.rows.flatMap(([layer, position, written, reads, last]) => {
      const next = last < 0 ? undefined : passes.find((pass) => pass > last);
      const end = next === undefined ? "gone" : `trimmed ${times[next]}`;
      const isThere = last < 0 || last >= cache.reordered;
      const isTold = !(cache.reordered >= 0 && written < cache.reordered && isThere);
      const sequences = said.forwards[written]?.[4] ?? 0;
      return ["k", "v"].flatMap((letter) => {
        const text = `${times[written]} cache_${letter}_l${layer} ${position} ${reads} ${end}`;
        return Array.from({ length: sequences }, () => ({ text, isAsked, isTold }));
      });
    });
  });
  const endOf = ({ write_ns, evict_ns, ended_by }: Row): string => {
    const cache = said.caches.find(({ made, gone }) => made <= Number(write_ns) && Number(write_ns) <= gone);
    if (ended_by === "trimmed") return `trimmed ${Number(evict_ns)}`;
    const last = cache?.rows.length ? Number(evict_ns) : Number.NaN;
    return ended_by === "memory_gone" && last >= Number(write_ns) && last <= (cache?.gone ?? 0)
      ? "gone"
      : String(ended_by);
  };
  const told = table("kv_block_lifecycle").map((row) => {
    const { write_ns, tensor, position, total_reads, moves } = row;
    const text = `${Number(write_ns)} ${tensor} ${position} ${total_reads} ${endOf(row)}`;
    return { text: moves === total_reads ? text : `${text}, moved ${moves} times`, time: Number(write_ns) };
  });
  const textOf = (some: readonly { readonly text: string }[]): string[] => some.map(({ text }) => text);
  const asked = textOf(truth.filter(({ isAsked, isTold }) => isAsked && isTold));
  const known = textOf(truth.filter(({ isTold }) => isTold));
  // Of a cache that is still there when the tracer leaves the last passes are not seen.
  const last = said.caches.findLast(({ gone }) => gone <= until)?.gone ?? 0;
  const judged = textOf(told.filter(({ time }) => time <= last));
  const untold = truth.filter(({ isTold, isAsked }) => !isTold && isAsked).length;
  return { rows: asked.length, missing: without(asked, textOf(told)), wrong: without(judged, known), untold };
}
