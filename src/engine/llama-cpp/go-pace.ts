/**
 * How long Ollama takes for a token, by the places between which it counts `eval_duration` itself (0.17.4): from where a step begins
 * to where the next token begins to be drawn from its logits. With llama.cpp's runner a step begins with the call that decodes, with its own engine
 * where the token before was drawn. The first token of an answer is none of them.
 */
import { promptSequences } from "../../schema/step-detail.ts";
import type { EngineRow, Outcome } from "../engine.ts";
import type { RawRecord } from "../probing/raw-record.ts";
import { PROBE } from "./probes.ts";

/** Tokens, and ns that they took. */
export type Paced = readonly [tokens: number, time_ns: number];
/** When and by which thread a token was drawn. */
export type Drawn = Pick<RawRecord, "timestamp_ns" | "tid">;

export interface GoPace {
  /** Go begins a step, or draws a token of a sequence. */
  take(record: RawRecord): Outcome;
  /** A step was told: a batch that was computed, or that something of the cache was dropped, as at the begin of each answer. */
  note(row: EngineRow<"step">): void;
  /** Tells what was counted and not told. */
  flush(): void;
}

const TELL_NS = 1_000_000_000n;

/** Nothing counted yet. @param tell is given, once a second, what was counted since the last time, and the last token of it */
export function goPace(tell: (drawn: Drawn, paced: Paced) => void): GoPace {
  let begun: bigint | null = null;
  let batch: EngineRow<"step"> | null = null;
  let isFirst = false;
  let [tokens, time_ns] = [0, 0];
  let last: Drawn | null = null;
  let toldNs = 0n;

  function draw(timeNs: bigint): Outcome {
    const [from, step, wasFirst] = [begun, batch, isFirst];
    [begun, batch, isFirst] = [null, null, false];
    // Tokens of several sequences are drawn one behind the other, and Go begins a function anew where its stack was too small.
    if (from === null) return "duplicate";
    if (wasFirst || step === null || step.timestamp_ns < from || step.n_tokens === null) return "under_way";
    // More than one token of a sequence is a prompt, and so may one be.
    if (step.n_tokens > (step.n_sequences ?? 1) || promptSequences(step).length > 0) return "under_way";
    tokens += step.n_tokens;
    time_ns += Number(timeNs - from);
    return "kept";
  }

  function flush(): void {
    if (tokens === 0 || last === null) return;
    tell(last, [tokens, time_ns]);
    [tokens, time_ns] = [0, 0];
    toldNs = last.timestamp_ns;
  }

  return {
    take({ probe, timestamp_ns, tid }) {
      if (probe === PROBE.go_begin) {
        begun = timestamp_ns;
        return "kept";
      }
      const outcome = draw(timestamp_ns);
      if (outcome === "kept") last = { timestamp_ns, tid };
      if (timestamp_ns - toldNs >= TELL_NS) flush();
      return outcome;
    },
    note(row) {
      // The next token behind a drop is the first of an answer.
      if (row.kind === "kv_trim") isFirst = true;
      if (row.kind === "decode" && row.end_ns !== null) batch = row;
    },
    flush,
  };
}
