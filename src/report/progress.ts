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
const ERASE = "\r\x1b[2K";

/** The line's text: `decoding  812 tokens  41.2k events/s  0 lost  12.0 s  18.0 s left`. */
export function progressText(state: ProgressState, elapsedMs: number, eventsPerS: number): string {
  const parts = [
    state.phase,
    ...(state.tokens > 0 ? [`${formatCount(state.tokens)} tokens`] : []),
    `${formatCount(Math.round(eventsPerS))} events/s`,
    `${formatCount(state.lost)} lost`,
    formatNs(elapsedMs * 1e6),
  ];
  const { share } = state;
  if (share !== null && share > 0 && share < 1)
    parts.push(`${formatNs(((elapsedMs * (1 - share)) / share) * 1e6)} left`);
  return parts.join("  ");
}

/** A progress line; silent where the stream is no TTY or is `quiet`. @param now ms that only grow */
export function createProgress(
  stream: ProgressStream,
  { quiet = false, now = () => performance.now() }: { quiet?: boolean; now?: () => number } = {},
): Progress {
  const enabled = stream.isTTY === true && !quiet;
  const began = now();
  let drawnMs = Number.NEGATIVE_INFINITY;
  let drawnEvents = 0;
  let visible = false;
  return {
    update(state) {
      const atMs = now();
      if (!enabled || atMs - drawnMs < DRAW_MS) return;
      const sinceMs = Math.max(1, atMs - Math.max(drawnMs, began));
      const rate = (1000 * (state.events - drawnEvents)) / sinceMs;
      const line = [{ text: printable(progressText(state, atMs - began, rate)) }];
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
