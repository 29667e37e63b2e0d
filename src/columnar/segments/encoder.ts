/** The one worker of a run that encodes segments and writes them, so that the poll loop never waits for either. */
import { type Batch, isStringColumn } from "../batch.ts";
import { arrayLender, type LentBatch } from "./lent-arrays.ts";

/** Rows that become one file. */
export interface SegmentJob {
  readonly path: string;
  readonly batch: LentBatch;
  readonly keyValues: readonly (readonly [string, string])[];
}

/** A text that says what is in files, to take the place of the one before. */
export interface NoteText {
  readonly path: string;
  readonly text: string;
}

/** What the worker is asked: files that stand or fall together, the note behind the segments of which it tells. */
export interface EncodeJob {
  readonly id: number;
  readonly segments: readonly SegmentJob[];
  readonly note: NoteText | null;
}

/** What the worker answers. */
export interface EncodeResult {
  readonly id: number;
  /** Of each segment; empty where one could not be written. */
  readonly bytes: readonly number[];
  /** Null when the files are there; else what failed, with errno where the system said one. */
  readonly failure: { readonly message: string; readonly errno: string | null } | null;
}

/** What became of a job. */
export type Outcome = Omit<EncodeResult, "id">;

/** A segment that is to be written. */
export interface NewSegment {
  readonly path: string;
  readonly batch: Batch;
  readonly keyValues: ReadonlyMap<string, string>;
}

export interface Encoder extends AsyncDisposable {
  /** Bytes of the segments that are waiting or being written. */
  readonly queuedBytes: number;
  /** Bytes that may wait; a writer asks `accepts` before it submits. */
  readonly maxQueueBytes: number;
  /** True when a segment of this size may be submitted now; an idle queue takes any. */
  accepts(bytes: number): boolean;
  /**
   * Has segments written and put in place, in this order and all of them or none; what is there was on the disk before it
   * had its name; then the note, where there is one. Arrays in shared memory are read where they are, and must rest until
   * then. Never rejects.
   */
  submit(segments: readonly NewSegment[], note: NoteText | null): Promise<Outcome>;
}

export const DEFAULT_MAX_QUEUE_BYTES = 16 * 2 ** 20;

/** Starts the worker; disposing it waits for what was submitted. */
export function openEncoder({ maxQueueBytes = DEFAULT_MAX_QUEUE_BYTES } = {}): Encoder {
  const worker = new Worker(new URL("./encoder-worker.ts", import.meta.url).href, { smol: true });
  worker.unref();
  const lend = arrayLender();
  const waiting = new Map<number, { bytes: number; done: (outcome: Outcome) => void }>();
  let lastId = 0;
  let queuedBytes = 0;
  let dead: string | null = null;
  let idle: (() => void) | null = null;

  function settle(id: number, outcome: Outcome): void {
    const entry = waiting.get(id);
    if (entry === undefined) return;
    waiting.delete(id);
    queuedBytes -= entry.bytes;
    entry.done(outcome);
    if (waiting.size === 0) {
      worker.unref();
      idle?.();
    }
  }

  function die(message: string): void {
    dead = message;
    for (const id of [...waiting.keys()]) settle(id, { bytes: [], failure: { message, errno: null } });
  }

  worker.onmessage = (event: MessageEvent<EncodeResult>) => settle(event.data.id, event.data);
  worker.onerror = (event) => die(`the segment writer's worker failed: ${event.message}`);
  worker.addEventListener("close", () => die("the segment writer's worker ended"));

  return {
    get queuedBytes() {
      return queuedBytes;
    },
    maxQueueBytes,
    accepts: (bytes) => queuedBytes === 0 || queuedBytes + bytes <= maxQueueBytes,
    submit(segments, note) {
      if (dead !== null) return Promise.resolve({ bytes: [], failure: { message: dead, errno: null } });
      const id = ++lastId;
      const bytes = segments.reduce((sum, { batch }) => sum + memoryOf(batch), 0);
      queuedBytes += bytes;
      worker.ref();
      return new Promise((done) => {
        waiting.set(id, { bytes, done });
        const lent = segments.map(({ path, batch, keyValues }) => ({
          path,
          batch: lend(batch),
          keyValues: [...keyValues],
        }));
        const job: EncodeJob = { id, segments: lent, note };
        worker.postMessage(job);
      });
    },
    async [Symbol.asyncDispose]() {
      if (waiting.size > 0) {
        await new Promise<void>((resolve) => {
          idle = resolve;
        });
      }
      dead ??= "the segment writer is closed";
      worker.terminate();
    },
  };
}

/** Bytes of a batch's arrays. */
function memoryOf(batch: Batch): number {
  let bytes = 0;
  for (const column of Object.values(batch.columns)) {
    if (isStringColumn(column)) bytes += column.codes.byteLength;
    else bytes += column.data.byteLength + (column.valid?.byteLength ?? 0);
  }
  return bytes;
}
