/** One line on stderr that says how far the run is; only on a TTY, and gone at the end. */
import { formatCount, formatNs } from "../units.ts";
import { clip, lineWidth, printable } from "./terminal.ts";

export interface ProgressState {
  /** What is being done, such as `baseline`, `loading`, `decoding`. */
  readonly phase: string;
  readonly tokens: number;
  /** Events so far, of every stream. */
  readonly events: number;
  readonly lost: number;
  /** Share done, 0 to 1; null where the end is not known. */
  readonly share: number | null;
}

export interface Progress {
  /** Draws the line, ten times a second at most. */
  update(state: ProgressState): void;
  /** Takes the line away so that something else can be printed; the next update draws it again. */
  clear(): void;
}

/** The part of a stream that the line needs. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const DRAW_MS = 100;
/** How long work must have been seen before what is left of it is told. */
const LEAST_LOOK_MS = 1000;
const ERASE = "\r\x1b[2K";

/** The line's text: `decoding  812 tokens  41.2k events/s  0 lost  12.0 s  18.0 s left`. */
export function progressText(
  state: ProgressState,
  elapsedMs: number,
  eventsPerS: number,
  leftMs: number | null,
): string {
  const parts = [
    state.phase,
    ...(state.tokens > 0 ? [`${formatCount(state.tokens)} tokens`] : []),
    `${formatCount(Math.max(0, Math.round(eventsPerS)))} events/s`,
    `${formatCount(state.lost)} lost`,
    formatNs(Math.max(0, elapsedMs) * 1e6),
  ];
  if (leftMs !== null) parts.push(`${formatNs(Math.max(0, leftMs) * 1e6)} left`);
  return parts.join("  ");
}

/** A progress line; silent where the stream is no TTY or is `quiet`. @param now ms that only grow */
export function createProgress(
  stream: ProgressStream,
  { quiet = false, now = () => performance.now() }: { quiet?: boolean; now?: () => number } = {},
): Progress {
  const enabled = stream.isTTY === true && !quiet;
  const began = now();
  /** When the work began of which a share is told: what came before it says nothing of its speed. */
  let first: { readonly ms: number; readonly share: number } | null = null;
  const left = (share: number | null, atMs: number): number | null => {
    if (share === null || share >= 1) {
      first = null;
      return null;
    }
    first ??= { ms: atMs, share };
    const done = share - first.share;
    const took = atMs - first.ms;
    return took >= LEAST_LOOK_MS && done > 0 ? (took * (1 - share)) / done : null;
  };
  let drawnMs = Number.NEGATIVE_INFINITY;
  let drawnEvents = 0;
  let visible = false;
  return {
    update(state) {
      const atMs = now();
      if (!enabled || atMs - drawnMs < DRAW_MS) return;
      const sinceMs = Math.max(1, atMs - Math.max(drawnMs, began));
      // What follows a recording counts from nothing again.
      const rate = Math.max(0, (1000 * (state.events - drawnEvents)) / sinceMs);
      const text = progressText(state, atMs - began, rate, left(state.share, atMs));
      const line = [{ text: printable(text) }];
      // The last column stays free: a full line would wrap on some terminals and could not be erased.
      const room = Math.max(1, (stream.columns || 80) - 1);
      const shown = lineWidth(line) <= room ? line : clip(line, room, "...");
      stream.write(ERASE + shown.map(({ text }) => text).join(""));
      visible = true;
      drawnMs = atMs;
      drawnEvents = state.events;
    },
    clear() {
      if (visible) stream.write(ERASE);
      visible = false;
    },
  };
}
