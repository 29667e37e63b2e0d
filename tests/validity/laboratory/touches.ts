/** What is true of a program of which valgrind wrote every access: figures of passes by step, not by time. */
import type { Truth } from "../../../src/simulate/true-quantiles.ts";

/** Sums over the steps of a phase of words of 8 bytes that were touched; a program for each in tests/fixtures/programs. */
export interface Touches {
  readonly bytes: number;
  readonly steps: number;
  readonly tokens: number;
  readonly accesses: number;
  /** Once for each node of a graph that touches a word, and once for each step. */
  readonly node: { readonly read: number; readonly written: number; readonly either: number };
  readonly step: { readonly read: number; readonly written: number; readonly either: number };
}

const WORD_BYTES = 8;

/** What count-touches printed, by phase and class with a space between them. */
export function touchesOf(text: string): Map<string, Touches> {
  const lines = text.trim().split("\n");
  return new Map(
    lines.map((line) => {
      const [phase, region_type, ...numbers] = line.split(" ");
      const [bytes = 0, steps = 0, tokens = 0, accesses = 0, ...words] = numbers.map(Number);
      const [read = 0, written = 0, either = 0, stepRead = 0, stepWritten = 0, stepEither = 0] = words;
      const node = { read, written, either };
      const step = { read: stepRead, written: stepWritten, either: stepEither };
      return [`${phase} ${region_type}`, { bytes, steps, tokens, accesses, node, step }];
    }),
  );
}

const between = (a: number, b: number): Truth => ({ lo: Math.min(a, b), hi: Math.max(a, b) });

/**
 * The figures that need no clock. Nodes of a step that touch the same word may lie within one pass or in several: the truth is
 * from the one to the other.
 */
export function truthOfTouches({ bytes, tokens, accesses, node, step }: Touches): Map<string, Truth | null> {
  const perToken = (words: number): number => (words * WORD_BYTES) / (bytes * tokens);
  const ratio = (part: Truth, whole: Truth): Truth | null =>
    whole.lo > 0 ? { lo: part.lo / whole.hi, hi: part.hi / whole.lo } : null;
  const reads = between(step.read, node.read);
  const writes = between(step.written, node.written);
  return new Map([
    ["reads_per_byte_per_token", between(perToken(step.read), perToken(node.read))],
    ["writes_per_byte_per_token", between(perToken(step.written), perToken(node.written))],
    ["reads_per_write", ratio(reads, writes)],
    ["hits_per_pass", ratio({ lo: accesses, hi: accesses }, between(step.either, node.either))],
  ]);
}
