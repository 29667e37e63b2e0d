/** The records that bpf/engine.bpf.c writes: a head of 64 bytes, then the copied parts. */
import { CAPTURE, PROBE_POINTS } from "./probes.ts";

/** Sizes of the copied parts; the same numbers are in bpf/engine.bpf.c. */
export const PART_BYTES = {
  tensor: 336,
  buffer: 120,
  path: 1024,
  batch: 56,
  summary: 32,
  params: 192,
  graph: 64,
} as const;
export const HEAD_BYTES = 64;

const PAYLOAD_BYTES: ReadonlyMap<number, number> = new Map([
  [CAPTURE.none, 0],
  [CAPTURE.tensor, PART_BYTES.tensor + PART_BYTES.buffer],
  [CAPTURE.buffer, PART_BYTES.buffer],
  [CAPTURE.path, PART_BYTES.path],
  [CAPTURE.batch, PART_BYTES.batch + PART_BYTES.summary],
  [CAPTURE.params, PART_BYTES.params],
  [CAPTURE.graph, PART_BYTES.graph],
]);
function keyOf(probe: number, returned: number, capture: number): number {
  return (probe << 16) | (returned << 8) | capture;
}

/** Which probe copies what, at entry and at return: a payload is never read as another probe's. */
const KNOWN: ReadonlySet<number> = new Set(
  PROBE_POINTS.flatMap(({ probe, entry, ret }) => [
    ...(entry === null ? [] : [keyOf(probe, 0, entry)]),
    ...(ret === null ? [] : [keyOf(probe, 1, ret)]),
  ]),
);

/** One hit of a probe; `payload` is a view that is valid while the record is. */
export interface RawRecord {
  readonly timestamp_ns: bigint;
  /** Entry: the first four arguments. Return: the value first. */
  readonly args: readonly [bigint, bigint, bigint, bigint];
  readonly pid: number;
  readonly tid: number;
  readonly probe: number;
  readonly capture: number;
  readonly isReturn: boolean;
  /** Bit i is set where part i could not be read; its bytes are zeros. */
  readonly unreadable: number;
  readonly execEpoch: number;
  readonly payload: DataView;
}

/** Decodes the record at `offset`; null where the bytes are no record of ours. */
export function decodeRecord(view: DataView, offset: number, length: number): RawRecord | null {
  if (length < HEAD_BYTES || offset < 0 || offset + length > view.byteLength) return null;
  const word = (at: number) => view.getBigUint64(offset + at, true);
  const probe = view.getUint16(offset + 48, true);
  const returned = view.getUint8(offset + 50);
  const capture = view.getUint8(offset + 51);
  const payloadBytes = PAYLOAD_BYTES.get(capture);
  if (payloadBytes === undefined || length < HEAD_BYTES + payloadBytes) return null;
  if (!KNOWN.has(keyOf(probe, returned, capture))) return null;
  return {
    timestamp_ns: word(0),
    args: [word(8), word(16), word(24), word(32)],
    pid: view.getUint32(offset + 40, true),
    tid: view.getUint32(offset + 44, true),
    probe,
    capture,
    isReturn: returned === 1,
    unreadable: view.getUint32(offset + 52, true),
    execEpoch: view.getUint32(offset + 56, true),
    payload: new DataView(view.buffer, view.byteOffset + offset + HEAD_BYTES, payloadBytes),
  };
}
