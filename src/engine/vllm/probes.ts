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

/** Its arguments, and what torch keeps it in, as names of instances of torch's templates have both. */
const ARGUMENTS = "S7_S7_S7_S8_S7_S7_dbSC_lS7_dS7_SC_SC_ddSK_";
const FUNCTOR = `INS0_6detail31WrapFunctionIntoRuntimeFunctor_IPFvRKN2at6TensorES7_S7_RS5_S7_S7_dbRKSt8optionalIS5_ElS7_dS7_SC_SC_dd${TEXT}EvNS_4guts8typelist8typelistIJ${ARGUMENTS}EEEEE`;

/**
 * Exact names, which have the types of the arguments in them: where the table of blocks lies follows from the name, and a build
 * with other arguments has another name and is not probed. The first that is not in a register is whether attention is causal.
 * It aligns its stack first, behind which a probe costs far less, but not one of its return: that is seen at its callers, one for calls
 * with arguments in a list and one for others, both instances of torch's templates for functions of these types, of which it is the only one.
 */
const ATTENTION: Readonly<Record<string, { readonly capture: CapturePlan; readonly callers: readonly string[] }>> = {
  // 0.32: whether causal, slopes, window, table
  [`_Z27cpu_attention_with_kv_cacheRKN2at6TensorES2_S2_RS0_S2_S2_dbRKSt8optionalIS0_ElS2_dS2_S7_S7_dd${TEXT}`]: {
    capture: attention({ window: 16, table: 24 }),
    callers: [
      `_ZN3c104impl31make_boxed_from_unboxed_functor${FUNCTOR}Lb0EE4callEPNS_14OperatorKernelERKNS_14OperatorHandleENS_14DispatchKeySetEPSt6vectorINS_6IValueESaIS10_EE`,
      `_ZN3c104impl28wrap_kernel_functor_unboxed_${FUNCTOR}SL_E4callEPNS_14OperatorKernelENS_14DispatchKeySetE${ARGUMENTS}`,
    ],
  },
};

/** Called once before the layers of a step, or once for each kind of them. */
const PREPARE: readonly string[] = [
  `_Z22get_scheduler_metadatallllRKN2at6TensorEN3c1010ScalarTypeES2_bl${TEXT}bRKSt8optionalIS0_ESC_`,
];

export const SYMBOLS: readonly string[] = [...PREPARE, ...Object.keys(ATTENTION)];

/** Those of some functions that an object has. */
function placesOf(object: EngineObject, names: readonly string[]): Pick<EngineProbe, "symbol" | "offset">[] {
  return names.flatMap((symbol) => {
    const found = object.symbol(symbol);
    if (found?.type !== "function" || found.fileOffset === null) return [];
    return [{ symbol, offset: BigInt(found.fileOffset) }];
  });
}

/** Probes of an object that has both: without one of them nothing is told. */
export function probesOf(object: EngineObject): EngineProbe[] {
  // Where arguments lie is known for this processor.
  if (process.arch !== "x64") return [];
  const probes = placesOf(object, SYMBOLS).flatMap(({ symbol, offset }): EngineProbe[] => {
    const layer = ATTENTION[symbol];
    if (layer === undefined) return [{ symbol, offset, isReturn: false, probe: PROBE.prepare, capture: NONE }];
    const probe = PROBE.attention;
    const callers = placesOf(object, layer.callers);
    const returning = callers.length === layer.callers.length ? callers : [{ symbol, offset }];
    return [
      ...returning.map((place) => ({ ...place, probe, isReturn: true, capture: NONE })),
      { symbol, offset, probe, isReturn: false, capture: layer.capture },
    ];
  });
  const has = (wanted: number): boolean => probes.some(({ probe }) => probe === wanted);
  return has(PROBE.prepare) && has(PROBE.attention) ? probes : [];
}
