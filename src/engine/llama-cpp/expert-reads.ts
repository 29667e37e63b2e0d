/** Which experts of a mixture are read, and how often: by the numbers by which a layer looks up how much each of them weighs. */
import { recordLayout } from "../../schema/records.ts";
import { ENGINE } from "../../schema/shared-numbers.ts";
import type { Outcome } from "../engine.ts";
import type { CapturePart } from "../probing/capture-plan.ts";
import type { RawRecord } from "../probing/raw-record.ts";
import { printableName } from "./decode-tensor.ts";
import type { GgmlLayout } from "./offsets.ts";

/** The experts of a layer: how many there are, and the bytes of all matrices of one of them. */
export interface LayerExperts {
  readonly experts: number;
  readonly expert_bytes: number;
}

/** Tokens of one layer that were seen, and how many of them read each expert. */
export interface LayerReads {
  readonly layer: number;
  tokens: number;
  readonly reads: number[];
  readonly expert_bytes: number;
  /** Tokens of batches that were seen of which no record had room for the numbers. */
  untold: number;
}

export interface ExpertReads {
  /** A call that looks rows up, by the first of its threads: its result, and the numbers of the rows. */
  take(record: RawRecord): Outcome;
  /** True while the probe would tell something: one second of eight, once there are experts. */
  isAsking(nowNs: bigint): boolean;
  /** Takes what was counted since the last call, in order of layers. */
  takeReads(): LayerReads[];
  /** True once reads were counted. */
  hasCounted(): boolean;
}

const HEAD = recordLayout("engine_rows");
/** Number of the type of whole numbers of 4 bytes (ggml.h), which is that of ggml's files. */
const I32 = 26;
/** What llama.cpp calls the weights that it gives to the experts which it chose. */
const WEIGHTS_OF = /^ffn_moe_weights-(\d{1,6})$/;
const [PERIOD_NS, ASKED_NS] = [8_000_000_000n, 1_000_000_000n];

/** What is copied: the name of the result, and the numbers in its second operand. */
export function lookupParts(layout: GgmlLayout): CapturePart[] {
  const { src, data, name, type, ne, nb } = layout.tensor;
  return [
    { form: "rows", from: 1, offsets: { operand: src + 8, name, type, sizes: ne, strides: nb, data, narrowType: I32 } },
  ];
}

interface Chosen {
  /** The numbers of each token that was copied. */
  readonly rows: readonly (readonly number[])[];
  readonly untold: number;
}

/** What the tokens chose; null where it cannot be of so many experts. */
function chosenBy(payload: DataView, experts: number): Chosen | null {
  const [bytes, tokens, held] = [HEAD.offsets.row_bytes, HEAD.offsets.rows, HEAD.offsets.held].map((place) =>
    payload.getUint32(place, true),
  ) as [number, number, number];
  const chosen = bytes / 4;
  if (!(chosen > 0 && chosen <= experts && held > 0 && held <= tokens)) return null;
  if (HEAD.bytes + held * bytes > payload.byteLength) return null;
  const rows = Array.from({ length: held }, (_, row) =>
    Array.from({ length: chosen }, (_, i) => payload.getInt32(HEAD.bytes + row * bytes + 4 * i, true)),
  );
  const isSound = rows.every((row) => new Set(row).size === chosen && row.every((one) => one >= 0 && one < experts));
  return isSound ? { rows, untold: tokens - held } : null;
}

/** Nothing counted yet. @param expertsIn the experts of a layer; null where it has none */
export function expertReads(expertsIn: (layer: number) => LayerExperts | null): ExpertReads {
  let counts = new Map<number, LayerReads>();
  let counted = false;
  let begun: bigint | null = null;

  return {
    take({ payload, unreadable }) {
      if (unreadable !== 0) return "unreadable";
      const name = printableName(payload, HEAD.offsets.name, ENGINE.row_name_bytes) ?? "";
      const [, layerText] = WEIGHTS_OF.exec(name) ?? [];
      if (layerText === undefined) return "passing";
      const layer = Number(layerText);
      const inLayer = expertsIn(layer);
      if (inLayer === null) return "under_way";
      const { experts, expert_bytes } = inLayer;
      const chosen = chosenBy(payload, experts);
      if (chosen === null) return "implausible";
      const { rows, untold } = chosen;
      let reads = counts.get(layer);
      if (reads?.reads.length !== experts || reads.expert_bytes !== expert_bytes)
        reads = { layer, tokens: 0, reads: Array<number>(experts).fill(0), expert_bytes, untold: 0 };
      counts.set(layer, reads);
      reads.tokens += rows.length;
      reads.untold += untold;
      for (const one of rows.flat()) reads.reads[one] = (reads.reads[one] ?? 0) + 1;
      counted = true;
      return "kept";
    },
    isAsking(nowNs) {
      begun ??= nowNs;
      return (nowNs - begun) % PERIOD_NS < ASKED_NS;
    },
    takeReads() {
      const taken = [...counts.values()].sort((one, other) => one.layer - other.layer);
      counts = new Map();
      return taken;
    },
    hasCounted: () => counted,
  };
}
