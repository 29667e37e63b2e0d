/** The operators of PyTorch that are probed, and what is copied at each. */
import type { EngineObject, EngineProbe, Presence } from "../engine.ts";
import { capturePlan } from "../probing/capture-plan.ts";
import { APPEND_BYTES, LIST_SKIP } from "./cache-append.ts";
import { TOKENS } from "./cache-tensor.ts";
import { ROW_NUMBERS, WRITE_BYTES } from "./cache-write.ts";
import { COPIED } from "./tensor-impl.ts";
import { TORCH } from "./torch-layout.ts";

export const ENGINE_NAME = "PyTorch";

/** Probe numbers, as they travel in the cookie. */
export const PROBE = { embedding: 1, sample: 2, linear: 3, write: 4, append: 5, allocate: 6, free: 7 } as const;

/**
 * Arguments of the operators, behind the address of the result (System V): a tensor is a pointer to its structure, and an
 * argument one to that. at::_ops::embedding::call has a table and indices, at::_ops::linear::call an input and weights.
 */
const [TABLE, INDICES, WEIGHTS] = [1, 2, 2] as const;

/** at::_ops::index_copy_::call returns what it is given: a tensor, along which of its dimensions, which of its rows, what they get. */
const [WRITTEN, ROWS] = [0, 2] as const;
/** Its argument that is the dimension. */
export const DIMENSION = 1;

/**
 * at::native::structured_cat_out_cpu::impl, a method: itself, a list of tensors, along which dimension; its result is there already, and
 * the third of its arguments that lie on the stack.
 */
const LIST = 1;
const RESULT = 16;
/** Its argument that is the dimension. */
export const JOINED = 2;

/** c10::ProfiledCPUMemoryReporter::New and Delete, methods that torch's allocator calls: itself, the block, its bytes. */
export const BLOCK = 1;
export const BLOCK_BYTES = 2;

const TENSOR = { form: "bytes", follow: [0], skip: COPIED.tensor.from, bytes: COPIED.tensor.bytes } as const;

type Tensor = typeof TABLE | typeof WEIGHTS;
const storageOf = (from: Tensor) =>
  ({
    form: "bytes",
    from,
    follow: [0, TORCH.tensor.storage],
    skip: COPIED.storage.from,
    bytes: COPIED.storage.bytes,
  }) as const;

const PLAN = {
  none: capturePlan(),
  /** The storage of the table, the table, the indices. */
  lookup: capturePlan(storageOf(TABLE), { ...TENSOR, from: TABLE }, { ...TENSOR, from: INDICES }),
  /** The storage of the weights, and the weights. */
  weights: capturePlan(storageOf(WEIGHTS), { ...TENSOR, from: WEIGHTS }),
  /** The storage of the tensor, where it lies, the tensor, and the rows. */
  write: capturePlan(
    { form: "bytes", from: WRITTEN, follow: [0, TORCH.tensor.storage], bytes: WRITE_BYTES.storage },
    { form: "bytes", from: WRITTEN, follow: [0], skip: TORCH.tensor.storage, bytes: WRITE_BYTES.storageAddress },
    { form: "bytes", from: WRITTEN, follow: [0], skip: TORCH.tensor.dimensions, bytes: WRITE_BYTES.tensor },
    { form: "numbers", from: ROWS, offsets: ROW_NUMBERS },
  ),
  /** The list, the first tensor in it, the storage of the result, and the result; along tokens alone, as models join other things too. */
  append: {
    only: { argument: JOINED, value: TOKENS },
    ...capturePlan(
      { form: "bytes", from: LIST, skip: LIST_SKIP, bytes: APPEND_BYTES.list },
      { form: "bytes", from: LIST, follow: [0, 0], skip: TORCH.tensor.storage, bytes: APPEND_BYTES.first },
      { form: "bytes", from: "structure", follow: [RESULT, 0, TORCH.tensor.storage], bytes: APPEND_BYTES.storage },
      { form: "bytes", from: "structure", follow: [RESULT, 0], skip: TORCH.tensor.storage, bytes: APPEND_BYTES.into },
    ),
  },
} as const;

export interface ProbePoint {
  readonly probe: number;
  /** Names of one function in builds of different ages; an object has one of them. */
  readonly symbols: readonly string[];
  readonly capture: (typeof PLAN)[keyof typeof PLAN];
  /** When it is there: such as until every weight is known that it would tell of. Always where absent. */
  readonly presence?: Presence;
}

export const PROBE_POINTS: readonly ProbePoint[] = [
  {
    probe: PROBE.embedding,
    symbols: [
      "_ZN2at4_ops9embedding4callERKNS_6TensorES4_N3c106SymIntEbb",
      "_ZN2at4_ops9embedding4callERKNS_6TensorES4_lbb",
    ],
    capture: PLAN.lookup,
  },
  {
    probe: PROBE.linear,
    symbols: [
      "_ZN2at4_ops6linear4callERKNS_6TensorES4_RKSt8optionalIS2_E",
      "_ZN2at4_ops6linear4callERKNS_6TensorES4_RKN3c108optionalIS2_EE",
    ],
    capture: PLAN.weights,
    presence: "rests",
  },
  {
    probe: PROBE.append,
    symbols: ["_ZN2at6native22structured_cat_out_cpu4implERKN3c108IListRefINS_6TensorEEEllbbbNS2_12MemoryFormatERKS4_"],
    capture: PLAN.append,
  },
  { probe: PROBE.write, symbols: ["_ZN2at4_ops11index_copy_4callERNS_6TensorElRKS2_S5_"], capture: PLAN.write },
  {
    probe: PROBE.sample,
    symbols: [
      "_ZN2at4_ops6argmax4callERKNS_6TensorESt8optionalIlEb",
      "_ZN2at4_ops6argmax4callERKNS_6TensorEN3c108optionalIlEEb",
    ],
    capture: PLAN.none,
  },
  {
    probe: PROBE.sample,
    symbols: [
      "_ZN2at4_ops11multinomial4callERKNS_6TensorEN3c106SymIntEbSt8optionalINS_9GeneratorEE",
      "_ZN2at4_ops11multinomial4callERKNS_6TensorElbSt8optionalINS_9GeneratorEE",
      "_ZN2at4_ops11multinomial4callERKNS_6TensorElbN3c108optionalINS_9GeneratorEEE",
    ],
    capture: PLAN.none,
  },
];

/** Of the library with the allocator. */
const ALLOCATOR_POINTS: readonly ProbePoint[] = [
  {
    probe: PROBE.allocate,
    symbols: ["_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm"],
    capture: PLAN.none,
    presence: "onRequest",
  },
  {
    probe: PROBE.free,
    symbols: ["_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv"],
    capture: PLAN.none,
    presence: "onRequest",
  },
];

export const SYMBOLS: readonly string[] = [...PROBE_POINTS, ...ALLOCATOR_POINTS].flatMap(({ symbols }) => symbols);

/** The library with the operators, as it names itself in wheels and in distributions. */
const LIBRARY = /^libtorch_cpu\.so(?:\.\d+)*$/;

/** The library with its allocator. */
const ALLOCATOR = /^libc10\.so(?:\.\d+)*$/;

/**
 * Probes of those operators that the object has, none where it has no lookup of embeddings, by which all are told; of the allocator both or
 * none.
 */
export function probesOf(object: EngineObject): EngineProbe[] {
  const soname = object.soname ?? "";
  if (ALLOCATOR.test(soname)) {
    const both = pointsIn(object, ALLOCATOR_POINTS);
    return both.length === ALLOCATOR_POINTS.length ? both : [];
  }
  if (!LIBRARY.test(soname)) return [];
  const probes = pointsIn(object, PROBE_POINTS);
  return probes.some(({ probe }) => probe === PROBE.embedding) ? probes : [];
}

function pointsIn(object: EngineObject, points: readonly ProbePoint[]): EngineProbe[] {
  return points.flatMap(({ symbols, ...point }) => {
    for (const symbol of symbols) {
      const found = object.symbol(symbol);
      if (found?.type !== "function" || found.fileOffset === null) continue;
      return [{ symbol, offset: BigInt(found.fileOffset), isReturn: false, ...point }];
    }
    return [];
  });
}
