/** How far the work is, on stderr: one line that changes on a TTY and is gone at the end, in a pipe a line every 10 s. */
import { formatCount, formatNs } from "../units.ts";
import { clip, lineWidth, printable } from "./terminal.ts";

export interface ProgressState {
  /** What is being done, such as `baseline`, `loading`, `decoding`. */
  readonly phase: string;
  readonly tokens: number;
  /** Events so far, of every stream; null for work that counts none. */
  readonly events: number | null;
  /** Of them lost. */
  readonly lost: number;
  /** Share done, 0 to 1; null where the end is not known. */
  readonly share: number | null;
}

export interface Progress {
  /** Draws the line, ten times a second at most; without a TTY every 10 s. */
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
/** Between lines without a TTY, and before the first: who waits less needs none. */
const LINE_MS = 10_000;
/** How long work must have been seen before what is left of it is told. */
const LEAST_LOOK_MS = 1000;
/** From so long a wait on it is told, where that is half of the time that has gone by or more. */
const LONG_WAIT_MS = 5000;
const ERASE = "\r\x1b[2K";

/** The line's text: `decoding  812 tokens  41.2k events/s  0 lost  12.0 s  18.0 s left`. */
export function progressText(
  state: ProgressState,
  elapsedMs: number,
  eventsPerS: number | null,
  leftMs: number | null,
): string {
  const parts = [
    state.phase,
    ...(state.tokens > 0 ? [`${formatCount(state.tokens)} tokens`] : []),
    ...(eventsPerS === null
      ? []
      : [`${formatCount(Math.max(0, Math.round(eventsPerS)))} events/s`, `${formatCount(state.lost)} lost`]),
    formatNs(Math.max(0, elapsedMs) * 1e6),
  ];
  if (leftMs !== null) parts.push(`${formatNs(Math.max(0, leftMs) * 1e6)} left`);
  return parts.join("  ");
}

interface ProgressOptions {
  readonly quiet?: boolean;
  /** ms that only grow. */
  readonly now?: () => number;
  /** How long this process has waited for a CPU so far, in ns. */
  readonly waitedNs?: () => number;
}

/** A progress line, or lines where the stream is no TTY; silent where it is `quiet`. */
export function createProgress(
  stream: ProgressStream,
  { quiet = false, now = () => performance.now(), waitedNs = () => 0 }: ProgressOptions = {},
): Progress {
  const isTerminal = stream.isTTY === true;
  const everyMs = isTerminal ? DRAW_MS : LINE_MS;
  const began = now();
  const waitedBefore_ns = waitedNs();
  /** Why all goes on so slowly, where others leave no CPU; null where they do. */
  const waitText = (elapsedMs: number): string | null => {
    const waitedMs = (waitedNs() - waitedBefore_ns) / 1e6;
    return waitedMs < LONG_WAIT_MS || waitedMs < elapsedMs / 2 ? null : `waited ${formatNs(waitedMs * 1e6)} for a CPU`;
  };
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
  let drawnMs = isTerminal ? Number.NEGATIVE_INFINITY : began;
  let drawnEvents = 0;
  let visible = false;
  return {
    update(state) {
      const atMs = now();
      if (quiet) return;
      const leftMs = left(state.share, atMs);
      if (atMs - drawnMs < everyMs) return;
      const sinceMs = Math.max(1, atMs - Math.max(drawnMs, began));
      const rate = state.events === null ? null : Math.max(0, (1000 * (state.events - drawnEvents)) / sinceMs);
      const wait = waitText(atMs - began);
      const text = progressText(state, atMs - began, rate, leftMs) + (wait === null ? "" : `  ${wait}`);
      drawnMs = atMs;
      // What follows a recording counts from nothing again.
      drawnEvents = state.events ?? 0;
      if (!isTerminal) {
        stream.write(`mrm-trace: ${printable(text)}\n`);
        return;
      }
      const line = [{ text: printable(text) }];
      // The last column stays free: a full line would wrap on some terminals and could not be erased.
      const room = Math.max(1, (stream.columns || 80) - 1);
      const shown = lineWidth(line) <= room ? line : clip(line, room, "...");
      stream.write(ERASE + shown.map(({ text }) => text).join(""));
      visible = true;
    },
    clear() {
      if (visible) stream.write(ERASE);
      visible = false;
    },
  };
}
