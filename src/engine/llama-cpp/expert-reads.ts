/** Which experts of a mixture are read, and how often: by the numbers by which a layer looks up how much each of them weighs. */
import type { Outcome } from "../engine.ts";
import type { CapturePart } from "../probing/capture-plan.ts";
import type { RawRecord } from "../probing/raw-record.ts";
import { printableName } from "./decode-tensor.ts";
import type { GgmlLayout } from "./offsets.ts";

/** Tokens of one layer that were seen, and how many of them read each expert. */
export interface LayerReads {
  readonly layer: number;
  tokens: number;
  readonly reads: number[];
}

export interface ExpertReads {
  useLayout(layout: GgmlLayout): void;
  /** A call that looks rows up: its thread, its result, and the numbers of the rows. */
  take(record: RawRecord): Outcome;
  /** True while the probe would tell something: one second of eight, once there are experts. */
  isAsking(nowNs: bigint): boolean;
  /** Takes what was counted since the last call, in order of layers. */
  takeReads(): LayerReads[];
  /** True once reads were counted. */
  hasCounted(): boolean;
}

/** Bytes of the caller's parameters, in which the number of its thread is first; of a name; and of the numbers. */
const [PARAMS_BYTES, NAME_BYTES, NUMBERS_BYTES] = [8, 32, 384];
/** Number of the type of whole numbers of 4 bytes (ggml.h), which is that of ggml's files. */
const I32 = 26;
/** What llama.cpp calls the weights that it gives to the experts which it chose. */
const WEIGHTS_OF = /^ffn_moe_weights-(\d{1,6})$/;
const MOST_CHOSEN = 64;
const [PERIOD_NS, ASKED_NS] = [8_000_000_000n, 1_000_000_000n];

/** Bytes of a tensor in which its type and its shape lie. */
function headBytes({ tensor }: GgmlLayout): number {
  return Math.max(tensor.type + 4, tensor.ne + 32, tensor.nb + 32);
}

/** What is copied: the thread, the name of the result, the shape of its second operand, and the numbers in that. */
export function lookupParts(layout: GgmlLayout): CapturePart[] {
  const { src, data, name } = layout.tensor;
  return [
    { form: "bytes", from: 0, bytes: PARAMS_BYTES },
    { form: "bytes", from: 1, skip: name, bytes: NAME_BYTES },
    { form: "bytes", from: 1, follow: [src + 8], bytes: headBytes(layout) },
    { form: "bytes", from: 1, follow: [src + 8, data], bytes: NUMBERS_BYTES },
  ];
}

/** The numbers of each token, where all of them were copied; null where they cannot be those of so many experts. */
function chosenBy(payload: DataView, layout: GgmlLayout, experts: number): number[][] | "cut" | null {
  const head = PARAMS_BYTES + NAME_BYTES;
  const [ne, nb] = [head + layout.tensor.ne, head + layout.tensor.nb];
  const [chosen, tokens] = [0, 8].map((skip) => Number(payload.getBigInt64(ne + skip, true))) as [number, number];
  const [step, stride] = [0, 8].map((skip) => Number(payload.getBigUint64(nb + skip, true))) as [number, number];
  if (payload.getInt32(head + layout.tensor.type, true) !== I32 || step !== 4) return null;
  if (!(chosen > 0 && chosen <= Math.min(MOST_CHOSEN, experts) && tokens > 0 && stride >= 4 * chosen)) return null;
  if ((tokens - 1) * stride + 4 * chosen > NUMBERS_BYTES) return "cut";
  const first = head + headBytes(layout);
  const rows = Array.from({ length: tokens }, (_, row) =>
    Array.from({ length: chosen }, (_, i) => payload.getInt32(first + row * stride + 4 * i, true)),
  );
  const isSound = rows.every((row) => new Set(row).size === chosen && row.every((one) => one >= 0 && one < experts));
  return isSound ? rows : null;
}

/** Nothing counted yet. @param expertsIn how many experts a layer has; null where it has none */
export function expertReads(first: GgmlLayout, expertsIn: (layer: number) => number | null): ExpertReads {
  let layout = first;
  let counts = new Map<number, LayerReads>();
  let counted = false;
  let begun: bigint | null = null;

  return {
    useLayout(chosen) {
      layout = chosen;
    },
    take({ payload, unreadable }) {
      // Every thread of a layer makes the call: the first of them tells of it.
      if (payload.getInt32(0, true) !== 0) return "duplicate";
      const [, layerText] = WEIGHTS_OF.exec(printableName(payload, PARAMS_BYTES, NAME_BYTES) ?? "") ?? [];
      if (layerText === undefined) return "passing";
      if (unreadable !== 0) return "unreadable";
      const layer = Number(layerText);
      const experts = expertsIn(layer);
      if (experts === null) return "under_way";
      const rows = chosenBy(payload, layout, experts);
      if (rows === "cut") return "too_many";
      if (rows === null) return "implausible";
      let reads = counts.get(layer);
      if (reads?.reads.length !== experts) reads = { layer, tokens: 0, reads: Array<number>(experts).fill(0) };
      counts.set(layer, reads);
      reads.tokens += rows.length;
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
