/** The loop of a run: every few milliseconds, what the collectors have goes to the segments. */
import { join } from "node:path";
import type { Collector } from "../collect/collector.ts";
import type { Batch } from "../columnar/batch.ts";
import { openEncoder } from "../columnar/segments/encoder.ts";
import { openSegmentWriter, type SegmentWriter } from "../columnar/segments/segment-writer.ts";
import type { MrmTraceError } from "../errors.ts";
import { monotonicNs } from "../kernel/libc.ts";
import { STREAMS, type StreamName } from "../schema/columns.ts";
import type { LedgerRow } from "../schema/ledger.ts";
import { seededRandom } from "../statistics/prng.ts";
import { pollPace, unevenRest } from "./poll-pace.ts";

/** Segments that may wait while a collector's last batches are taken: one more of any stream still finds room. */
const REST_QUEUE_BYTES = 2 ** 20;

export type StopReason = "target_ended" | "duration" | "max_size" | "interrupted" | "terminated" | "disk";

export interface RecorderOptions {
  readonly runDir: string;
  readonly collectors: readonly Collector[];
  /** True where the target starts with the recording, false where it has been running. */
  readonly starting: boolean;
  /** Recording ends when this resolves. */
  readonly stopped: Promise<StopReason>;
  /** ns after which the run ends; undefined for no limit. */
  readonly durationNs: number | undefined;
  readonly maxSizeBytes: number;
  /** Called with every batch before it is written. */
  readonly onBatch: (batch: Batch) => void;
  /** Called at every poll. */
  readonly onPoll: (state: RecorderState) => void;
}

export interface RecorderState {
  readonly now_ns: bigint;
  readonly rows: Readonly<Record<StreamName, number>>;
  readonly dropped: number;
}

export interface Recording {
  readonly reason: StopReason;
  readonly begin_ns: bigint;
  readonly end_ns: bigint;
  readonly rows: Readonly<Record<StreamName, number>>;
  readonly ledger: readonly LedgerRow[];
  /** Bytes of the segments written. */
  readonly bytes: number;
  /** Set when a segment could not be written: what was measured before stays. */
  readonly writeError: MrmTraceError | null;
  /** Peak of the time between two polls, in ms. */
  readonly slowest_poll_ms: number;
}

/** Records until told to stop or until something fails, then stops every collector and closes every segment. */
export async function record(options: RecorderOptions): Promise<Recording> {
  const begin_ns = monotonicNs();
  await using ends = new AsyncDisposableStack();
  const encoder = ends.use(openEncoder());
  const writers = new Map<StreamName, SegmentWriter>();
  const rows = Object.fromEntries(STREAMS.map((stream) => [stream, 0])) as Record<StreamName, number>;
  const failure = (): MrmTraceError | null => {
    for (const writer of writers.values()) if (writer.error) return writer.error;
    return null;
  };
  const take = (batch: Batch): void => {
    const stream = batch.table as StreamName;
    let writer = writers.get(stream);
    if (writer === undefined) {
      writer = openSegmentWriter({ encoder, dir: join(options.runDir, "capture", stream), table: stream });
      writers.set(stream, writer);
    }
    rows[stream] += batch.rows;
    options.onBatch(batch);
    writer.append(batch);
  };

  // Whatever ends the recording: nothing stays attached, and what came before is in files. Both do nothing the second
  // time, and after a failure that failure is what is told, not what came of it.
  ends.defer(async () => {
    await Promise.allSettled(options.collectors.map((collector) => collector.stop()));
    await Promise.allSettled([...writers.values()].map((writer) => writer.close()));
  });

  let reason: StopReason | null = null;
  options.stopped.then((why) => {
    reason ??= why;
  });
  const patience_ms = Math.min(...options.collectors.map((collector) => collector.patienceMs?.() ?? Infinity));
  const held = options.collectors.map((collector) => ({ collector, holds: collector.holds?.() }));
  const pace = pollPace(begin_ns, options.starting, patience_ms);
  const random = seededRandom(Number(begin_ns % 2n ** 32n));
  let last_ns = begin_ns;
  let slowest_ns = 0n;
  while (reason === null) {
    let filled = 0;
    for (const { collector, holds } of held) {
      for (const batch of collector.batches()) {
        take(batch);
        filled += batch.rows / (holds?.[batch.table as StreamName] ?? Infinity);
      }
    }
    const now_ns = monotonicNs();
    if (now_ns - last_ns > slowest_ns) slowest_ns = now_ns - last_ns;
    last_ns = now_ns;
    options.onPoll({ now_ns, rows, dropped: droppedRows(writers.values()) });
    if (failure()) reason = "disk";
    else if (options.durationNs !== undefined && now_ns - begin_ns >= BigInt(Math.round(options.durationNs)))
      reason = "duration";
    else if (writtenBytes(writers.values()) >= options.maxSizeBytes) reason = "max_size";
    else await Bun.sleep(unevenRest(pace.after(now_ns, filled), random));
  }
  const end_ns = monotonicNs();
  const ledger: LedgerRow[] = [];
  for (const collector of options.collectors) {
    const rest = await collector.stop();
    for (const batch of rest.batches) {
      take(batch);
      // What is read from a file now comes faster than it is encoded; nothing hurries any more.
      while (encoder.queuedBytes > REST_QUEUE_BYTES) await Bun.sleep(1);
    }
    ledger.push(...rest.ledger);
  }
  for (const writer of writers.values()) ledger.push(...(await writer.close()));
  return {
    reason,
    begin_ns,
    end_ns,
    rows,
    ledger,
    bytes: writtenBytes(writers.values()),
    writeError: failure(),
    slowest_poll_ms: Number(slowest_ns) / 1e6,
  };
}

function droppedRows(writers: Iterable<SegmentWriter>): number {
  let sum = 0;
  for (const writer of writers) sum += writer.droppedRows;
  return sum;
}

function writtenBytes(writers: Iterable<SegmentWriter>): number {
  let sum = 0;
  for (const writer of writers) sum += writer.writtenBytes;
  return sum;
}
