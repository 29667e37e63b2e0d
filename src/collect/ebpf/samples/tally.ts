/** Shares of what the samples' data source words say, over the whole run. */
import { decodeDataSource } from "../../data-src.ts";

export interface SourceTally {
  add(low: number, high: number): void;
  /** Samples by what their word says; a sample may count under several names, or under none. */
  summary(): Readonly<Record<string, number>>;
}

/** A machine knows some hundred words; a broken one could make up any number. */
const MOST_WORDS = 4096;
/** Bits of the high word that are decoded. */
const HIGH_BITS = 0x3fff;

export function createSourceTally(): SourceTally {
  const counts = new Map<number, number>();
  let others = 0;
  return {
    add(low, high) {
      const word = (high & HIGH_BITS) * 2 ** 32 + low;
      const counted = counts.get(word);
      if (counted !== undefined) counts.set(word, counted + 1);
      else if (counts.size < MOST_WORDS) counts.set(word, 1);
      else others += 1;
    },
    summary() {
      const out: Record<string, number> = {};
      const count = (name: string, n: number) => {
        out[name] = (out[name] ?? 0) + n;
      };
      for (const [word, n] of counts) {
        const said = decodeDataSource(BigInt(word));
        count("samples", n);
        count(`op_${said.op}`, n);
        if (said.level !== null) count(`level_${said.level}${said.hit === false ? "_miss" : ""}`, n);
        if (said.remote) count("remote", n);
        if (said.snoop !== null) count(`snoop_${said.snoop}`, n);
        if (said.tlb !== null) count(`tlb_${said.tlb.level ?? "any"}${said.tlb.hit === false ? "_miss" : ""}`, n);
        if (said.locked === "yes") count("locked", n);
        if (said.blocked?.data) count("blocked_by_data", n);
        if (said.blocked?.address) count("blocked_by_address", n);
      }
      if (others > 0) count("words_not_decoded", others);
      return out;
    },
  };
}
