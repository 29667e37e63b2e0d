/** The loop of a run: every few milliseconds, what the collectors have goes to the segments. */
import { join } from "node:path";
import type { Collector } from "../collect/collector.ts";
import type { Batch } from "../columnar/batch.ts";
import type { MrmTraceError } from "../errors.ts";
import { monotonicNs } from "../kernel/libc.ts";
import { pause } from "../kernel/urgent.ts";
import type { StreamName } from "../schema/columns.ts";
import type { LedgerRow } from "../schema/ledger.ts";
import { seededRandom } from "../statistics/prng.ts";
import { type CaptureWriters, type Closed, type Note, openCaptureWriters } from "./capture-writers.ts";
import { pollPace, unevenRest } from "./poll-pace.ts";

/** Segments that may wait while a collector's last batches are taken: one more of any stream still finds room. */
const REST_QUEUE_BYTES = 2 ** 20;

/** What was lost is counted anew so often: to ask every collector at each poll would cost more than the polls. */
const COUNT_LOST_NS = 1_000_000_000n;

/** As long as busy words are looked at: what waits in the event loop, such as signals and files of an engine, waits no longer. */
const BLIND_MS = 2;

/** No longer than the longest rest between two polls may become on a busy machine. */
const END_PATIENCE_MS = 100;

export type StopReason = "target_ended" | "duration" | "max_size" | "interrupted" | "terminated" | "hangup" | "disk";

export interface RecorderOptions {
  readonly runDir: string;
  readonly collectors: readonly Collector[];
  /** True where nobody else waits for the event loop of this process. */
  readonly isOwnProcess: boolean;
  /** True where the target starts with the recording, false where it has been running. */
  readonly starting: boolean;
  /** Recording ends when this resolves. */
  readonly stopped: Promise<StopReason>;
  /** ns after which the run ends; undefined for no limit. */
  readonly durationNs: number | undefined;
  readonly maxSizeBytes: number;
  /** Called with every batch before it is written. */
  readonly onBatch: (batch: Batch) => void;
  /** Called when it ends, before the collectors are stopped; waited for, but not for long: meanwhile nothing is taken. */
  readonly onEnd?: (() => Promise<void>) | undefined;
  /** Called at every poll. */
  readonly onPoll: (state: RecorderState) => void;
  /** The file that tells of the recording while it goes on: its path, and its text as of a closing of all segments. */
  readonly note?: { readonly path: string; readonly text: (soFar: Recording) => string };
}

export interface RecorderState {
  readonly now_ns: bigint;
  readonly rows: Readonly<Record<StreamName, number>>;
  /** Events that were lost on their way to a file, as of the last second. */
  readonly dropped: number;
}

export interface Recording {
  /** `killed` is what is told of a recording until it ends. */
  readonly reason: StopReason | "killed";
  readonly begin_ns: bigint;
  /** When what is in files ends: the end of the recording, the last closing before a write that failed. */
  readonly end_ns: bigint;
  readonly rows: Readonly<Record<StreamName, number>>;
  readonly ledger: readonly LedgerRow[];
  /** Bytes of the segments written. */
  readonly bytes: number;
  /** Rows that came after `end_ns`, where something could not be written; they are in no file and not in the ledger. */
  readonly rows_after_end: number;
  /** Set when a segment could not be written: what was measured before stays. */
  readonly writeError: MrmTraceError | null;
  /** Peak of the time between two polls, in ms. */
  readonly slowest_poll_ms: number;
}

/**
 * Rests. Where a watch has just begun this is at first one call of the kernel: to go to sleep by the event loop takes 0.1 ms, in which the target would
 * lack a CPU while it is looked at. A program that called us needs that loop.
 * @param isAtOnce true where a watch has just begun
 */
async function rest(rest_ms: number, isAtOnce: boolean): Promise<void> {
  const blind_ms = isAtOnce ? Math.min(rest_ms, BLIND_MS) : 0;
  pause(blind_ms);
  await Bun.sleep(rest_ms - blind_ms);
}

/** Records until told to stop or until something fails, then stops every collector and closes every segment. */
export async function record(options: RecorderOptions): Promise<Recording> {
  const { collectors, note } = options;
  const begin_ns = monotonicNs();
  let slowest_ns = 0n;
  const slowestMs = (): number => Number(slowest_ns) / 1e6;
  const soFar = (closed: Closed): Recording => {
    const rest = { rows_after_end: 0, writeError: null, slowest_poll_ms: slowestMs() };
    return { ...closed, ...rest, reason: "killed", begin_ns };
  };
  const noteOfClosed: Note | null =
    note === undefined ? null : { path: note.path, text: (closed) => note.text(soFar(closed)) };
  await using ends = new AsyncDisposableStack();
  const writers = ends.use(
    openCaptureWriters(
      join(options.runDir, "capture"),
      () => collectors.flatMap((collector) => [...(collector.account?.() ?? [])]),
      noteOfClosed,
    ),
  );
  const take = (batch: Batch): void => {
    options.onBatch(batch);
    writers.take(batch);
  };

  // Whatever ends the recording: nothing stays attached, and what came before is in files. Both do nothing the second
  // time, and after a failure that failure is what is told, not what came of it.
  ends.defer(async () => {
    await Promise.allSettled(collectors.map((collector) => collector.stop()));
  });

  let reason: StopReason | null = null;
  options.stopped.then((why) => {
    reason ??= why;
  });
  const patience_ms = Math.min(...collectors.map((collector) => collector.patienceMs?.() ?? Infinity));
  const held = collectors.map((collector) => ({ collector, holds: collector.holds?.() }));
  const pace = pollPace(begin_ns, options.starting, patience_ms);
  const random = seededRandom(Number(begin_ns % 2n ** 32n));
  let last_ns = begin_ns;
  let dropped = 0;
  let count_ns = begin_ns;
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
    if (now_ns >= count_ns) {
      dropped = writers.lostEvents();
      count_ns = now_ns + COUNT_LOST_NS;
    }
    options.onPoll({ now_ns, rows: writers.rows, dropped });
    if (writers.error) reason = "disk";
    else if (options.durationNs !== undefined && now_ns - begin_ns >= BigInt(Math.round(options.durationNs)))
      reason = "duration";
    else if (writers.writtenBytes >= options.maxSizeBytes) reason = "max_size";
    else {
      const hasBegun = collectors.map((collector) => collector.beforeRest?.()).includes(true);
      await rest(unevenRest(pace.after(now_ns, filled), random), hasBegun && options.isOwnProcess);
    }
  }
  if (options.onEnd !== undefined) await Promise.race([options.onEnd(), Bun.sleep(END_PATIENCE_MS)]);
  const end_ns = monotonicNs();
  // To stop one may take a second: the others would tell of a time of which it tells nothing.
  for (const collector of collectors.toReversed()) collector.leave?.();
  const collected: LedgerRow[] = [];
  for (const collector of collectors) {
    const rest = await collector.stop();
    for (const batch of rest.batches) {
      take(batch);
      // What is read from a file now comes faster than it is encoded; nothing hurries any more.
      while (writers.queuedBytes > REST_QUEUE_BYTES) await Bun.sleep(1);
    }
    collected.push(...rest.ledger);
  }
  const ledger = [...collected, ...(await writers.finish(collected))];
  const whole = { begin_ns, end_ns, rows: writers.rows, ledger, bytes: writers.writtenBytes, rows_after_end: 0 };
  const end =
    writers.error === null ? { ...whole, reason } : { ...endOfFiles(whole, writers), reason: "disk" as const };
  return { ...end, writeError: writers.error, slowest_poll_ms: slowestMs() };
}

type End = Omit<Recording, "reason" | "writeError" | "slowest_poll_ms">;

/**
 * The end of a recording of which something could not be written: it lasted until the last closing. What came later was
 * not lost from it, but came after its end. Streams of which nothing was in files by then are told as a whole.
 */
function endOfFiles(whole: End, { closed }: CaptureWriters): End {
  if (closed === null) return whole;
  const inFiles = new Set(closed.ledger.map(({ stream }) => stream));
  const ledger = [...closed.ledger, ...whole.ledger.filter(({ stream }) => !inFiles.has(stream))];
  const kept = (rows: Readonly<Record<StreamName, number>>): number =>
    Object.values(rows).reduce((sum, n) => sum + n, 0);
  return { ...whole, ...closed, ledger, rows_after_end: kept(whole.rows) - kept(closed.rows) };
}
