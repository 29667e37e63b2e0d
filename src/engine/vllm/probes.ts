/** The functions of vLLM's CPU backend that are probed, and what the kernel program copies at each. */
import type { EngineObject, EngineProbe } from "../engine.ts";
import { type BlockOffsets, type CapturePlan, capturePlan } from "../probing/capture-plan.ts";
import { TORCH } from "../pytorch/torch-layout.ts";

export const ENGINE_NAME = "vLLM";

/** Probe numbers, as they travel in the cookie. */
export const PROBE = { prepare: 1, attention: 2 } as const;

/** Of a cache tensor: from its number of dimensions to its type. */
export const SHAPE_FROM = TORCH.tensor.dimensions;
const SHAPE_BYTES = 112;
const STORAGE_BYTES = 56;
/** Where each part lies in the payload. */
export const COPIED = { storage: 0, valuesOffset: 56, valuesData: 64, shape: 72 } as const;

const [QUERY, KEYS, VALUES, STARTS, LENGTHS] = [0, 1, 2, 4, 5] as const;

/** Of references, and of a number of 8 bytes, on the stack behind the return address. */
interface StackPlaces {
  readonly window: number;
  readonly table: number;
}

function attention(places: StackPlaces): CapturePlan {
  const { storage, sizes, strides, offset } = TORCH.tensor;
  const offsets: BlockOffsets = {
    ...{ query: QUERY, cache: KEYS, starts: STARTS, lengths: LENGTHS, ...places },
    ...{ storage, sizes, strides, offset, data: TORCH.storage.data },
  };
  return capturePlan(
    { form: "bytes", from: KEYS, bytes: STORAGE_BYTES, follow: [0, storage] },
    { form: "bytes", from: VALUES, bytes: 8, follow: [0], skip: offset },
    { form: "bytes", from: VALUES, bytes: 8, follow: [0, storage], skip: TORCH.storage.data },
    { form: "bytes", from: KEYS, bytes: SHAPE_BYTES, follow: [0], skip: SHAPE_FROM },
    { form: "blocks", offsets },
  );
}

const NONE = capturePlan();

const TEXT = "RKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";

/**
 * Exact names, which have the types of the arguments in them: where the table of blocks lies follows from the name, and a build
 * with other arguments has another name and is not probed. The first that is not in a register is whether attention is causal.
 */
const ATTENTION: Readonly<Record<string, CapturePlan>> = {
  // 0.32: whether causal, slopes, window, table
  [`_Z27cpu_attention_with_kv_cacheRKN2at6TensorES2_S2_RS0_S2_S2_dbRKSt8optionalIS0_ElS2_dS2_S7_S7_dd${TEXT}`]:
    attention({ window: 16, table: 24 }),
};

/** Called once before the layers of a step, or once for each kind of them. */
const PREPARE: readonly string[] = [
  `_Z22get_scheduler_metadatallllRKN2at6TensorEN3c1010ScalarTypeES2_bl${TEXT}bRKSt8optionalIS0_ESC_`,
];

export const SYMBOLS: readonly string[] = [...PREPARE, ...Object.keys(ATTENTION)];

/** Probes of an object that has both: without one of them nothing is told. */
export function probesOf(object: EngineObject): EngineProbe[] {
  // Where arguments lie is known for this processor.
  if (process.arch !== "x64") return [];
  const places = SYMBOLS.flatMap((name) => {
    const found = object.symbol(name);
    if (found?.type !== "function" || found.fileOffset === null) return [];
    return [{ symbol: name, offset: BigInt(found.fileOffset) }];
  });
  const probes = places.flatMap(({ symbol, offset }): EngineProbe[] => {
    const capture = ATTENTION[symbol];
    if (capture === undefined) return [{ symbol, offset, isReturn: false, probe: PROBE.prepare, capture: NONE }];
    const place = { symbol, offset, probe: PROBE.attention };
    return [
      { ...place, isReturn: true, capture: NONE },
      { ...place, isReturn: false, capture },
    ];
  });
  const has = (wanted: number): boolean => probes.some(({ probe }) => probe === wanted);
  return has(PROBE.prepare) && has(PROBE.attention) ? probes : [];
}
