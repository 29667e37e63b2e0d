/** Segments that close together: of streams that need each other all are in files, after whatever end, or none is. */
import type { StreamName } from "../../schema/columns.ts";
import type { Encoder, NewSegment, NoteText, Outcome } from "./encoder.ts";

export const DEFAULT_MAX_AGE_NS = 5e9;
/** The first time that all segments close; each later one takes twice as long, so that what a kill costs is a share of a short run. */
const FIRST_AGE_NS = 500e6;
const RETRY_NS = 20e6;
/** The encoder may be behind for ever: after so many tries the segments close all the same, or none but full ones would. */
const MOST_TRIES = 50;

export type Failure = NonNullable<Outcome["failure"]>;

/** A segment on its way to its file. */
export interface UnderWay extends NewSegment {
  /** Told what became of it: the length of its file, or why there is none. */
  settle(bytes: number, failure: Failure | null): void;
}

/** The rows of one stream that wait for their segment. */
export interface OpenSegment {
  readonly table: StreamName;
  /** Memory that they take. */
  readonly bytes: number;
  /** Takes them; null where there are none. */
  take(): UnderWay | null;
}

export interface ClosingOptions {
  readonly encoder: Encoder;
  /** Streams that need each other, in each group those first that others need; any other stream stands alone. */
  readonly groups?: readonly (readonly StreamName[])[];
  /** All segments close this long after a row came to one of them, the first ones sooner; 5 s by default. */
  readonly maxAgeNs?: number;
  /** Called as all segments close. */
  readonly onClosing?: () => ClosingNote;
}

/** What is told of a closing of all segments. */
export interface ClosingNote {
  /** Put in place with the segments: it is there where they are. */
  readonly note: NoteText | null;
  /** Called when every row that came before the closing is in a file. */
  readonly onWritten: () => void;
}

const UNTOLD: ClosingNote = { note: null, onWritten: () => {} };

export interface Closing {
  join(segment: OpenSegment): void;
  /** A row has come: from now on the time runs until all segments close. */
  begin(): void;
  /** True where the encoder has room for the segment of the stream and those of its group. */
  accepts(table: StreamName): boolean;
  /** Closes the segment of the stream, which is full, with those of its group. */
  close(table: StreamName): void;
  /** Closes all segments, and waits until everything is written. */
  finish(): Promise<void>;
}

/**
 * The closings of one recording. After one that could not be written no other is tried: what is in files ends where the
 * last closing before it does, without a gap.
 */
export function openClosing({
  encoder,
  groups = [],
  maxAgeNs = DEFAULT_MAX_AGE_NS,
  ...options
}: ClosingOptions): Closing {
  const segments: OpenSegment[] = [];
  const underWay = new Set<Promise<void>>();
  let timer: ReturnType<typeof setTimeout> | null = null;
  let failed: Failure | null = null;
  let tries = 0;
  let age_ns = Math.min(FIRST_AGE_NS, maxAgeNs);

  const order = (table: StreamName): number => groups.flat().indexOf(table);
  const groupOf = (table: StreamName): OpenSegment[] => {
    const group = groups.find((tables) => tables.includes(table)) ?? [table];
    return segments.filter((segment) => group.includes(segment.table));
  };
  const room = (closing: readonly OpenSegment[]): boolean =>
    encoder.accepts(closing.reduce((sum, { bytes }) => sum + bytes, 0));

  function submit(closing: readonly OpenSegment[], { note, onWritten }: ClosingNote): void {
    const taken = closing.map((segment) => segment.take()).filter((segment) => segment !== null);
    const settleAll = ({ bytes, failure }: Outcome): void => {
      failed ??= failure;
      for (const [i, segment] of taken.entries()) segment.settle(bytes[i] ?? 0, failure);
    };
    if (failed !== null) {
      settleAll({ bytes: [], failure: failed });
      return;
    }
    const done = encoder.submit(taken, note).then((outcome) => {
      settleAll(outcome);
      underWay.delete(done);
      if (failed === null) onWritten();
    });
    underWay.add(done);
  }

  function closeAll(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    tries = 0;
    if (segments.every(({ bytes }) => bytes === 0)) return;
    submit(segments, options.onClosing?.() ?? UNTOLD);
  }

  /** The rows wait where they are until the encoder has room. */
  function closeByAge(): void {
    timer = null;
    if (room(segments) || ++tries > MOST_TRIES) closeAll();
    else arm(RETRY_NS);
  }

  function arm(ns: number): void {
    timer = setTimeout(closeByAge, ns / 1e6);
  }

  return {
    join(segment) {
      segments.push(segment);
      segments.sort((a, b) => order(a.table) - order(b.table));
    },
    begin() {
      if (timer !== null) return;
      arm(age_ns);
      age_ns = Math.min(maxAgeNs, 2 * age_ns);
    },
    accepts: (table) => room(groupOf(table)),
    close: (table) => submit(groupOf(table), UNTOLD),
    async finish() {
      closeAll();
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
