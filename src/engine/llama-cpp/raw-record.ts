/** The records that bpf/engine.bpf.c writes: a head, then the copied parts. */
import { recordLayout } from "../../schema/records.ts";
import { CAPTURE, PART_BYTES } from "../../schema/shared-numbers.ts";
import { PROBE_POINTS } from "./probes.ts";

const HEAD = recordLayout("engine_record");
const ARGS = HEAD.offsets.args;

const PAYLOAD_BYTES: ReadonlyMap<number, number> = new Map([
  [CAPTURE.none, 0],
  [CAPTURE.tensor, PART_BYTES.tensor + PART_BYTES.buffer],
  [CAPTURE.buffer, PART_BYTES.buffer],
  [CAPTURE.path, PART_BYTES.path],
  [CAPTURE.batch, recordLayout("engine_batch").bytes + recordLayout("engine_batch_summary").bytes],
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
  if (length < HEAD.bytes || offset < 0 || offset + length > view.byteLength) return null;
  const { offsets: at } = HEAD;
  const word = (where: number) => view.getBigUint64(offset + where, true);
  const probe = view.getUint16(offset + at.probe, true);
  const returned = view.getUint8(offset + at.is_return);
  const capture = view.getUint8(offset + at.capture);
  const payloadBytes = PAYLOAD_BYTES.get(capture);
  if (payloadBytes === undefined || length < HEAD.bytes + payloadBytes) return null;
  if (!KNOWN.has(keyOf(probe, returned, capture))) return null;
  return {
    timestamp_ns: word(at.timestamp_ns),
    args: [word(ARGS), word(ARGS + 8), word(ARGS + 16), word(ARGS + 24)],
    pid: view.getUint32(offset + at.pid, true),
    tid: view.getUint32(offset + at.tid, true),
    probe,
    capture,
    isReturn: returned === 1,
    unreadable: view.getUint32(offset + at.unreadable, true),
    execEpoch: view.getUint32(offset + at.exec_epoch, true),
    payload: new DataView(view.buffer, view.byteOffset + offset + HEAD.bytes, payloadBytes),
  };
}
