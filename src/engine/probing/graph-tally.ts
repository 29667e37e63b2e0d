/** What graphs say of the map of tensors: found, known, and those that could not be told to the end. */
import type { Look } from "../engine.ts";

export interface GraphCounts {
  /** Tensors of which no probe had told. */
  readonly found: number;
  readonly known: number;
  /** Tensors that could not be read and may be unknown, by reason; of graphs that nobody has read, as many as the others had. */
  readonly refused: Readonly<Record<string, number>>;
}

export interface GraphTally {
  /** A graph of a process was read: once more where it was read before. */
  note(process: string, look: Look): void;
  counts(): GraphCounts;
}

interface LastReading {
  readonly tensors: number;
  readonly refused: Readonly<Record<string, number>>;
}

/** Graphs whose last reading is kept apart; a server has some dozens of shapes. */
const GRAPHS = 1024;

/**
 * Counts the last reading of every graph: the target goes on while we read, and what changed meanwhile is read again.
 * Where the probes had told of every tensor that a process's graphs showed, they had told of those refused too: the
 * graphs are a check, and nothing is missing.
 */
export function graphTally(): GraphTally {
  const found = new Map<string, number>();
  /** Nodes by process: of graphs that were read, and of those that wait for it. */
  const walked = new Map<string, { read: number; unread: number }>();
  const last = new Map<string, LastReading & { readonly process: string }>();
  const settled = { found: 0, known: 0, refused: {} as Record<string, number> };

  function add(counts: typeof settled, process: string, { tensors, refused }: LastReading): void {
    counts.known += tensors;
    const mayBeUnknown = (found.get(process) ?? 0) > 0;
    for (const [reason, n] of Object.entries(refused)) {
      if (mayBeUnknown) counts.refused[reason] = (counts.refused[reason] ?? 0) + n;
      else counts.known += n;
    }
  }

  return {
    note(process, { graph, tensors, refused, found: newly, nodes, unread_nodes }) {
      found.set(process, (found.get(process) ?? 0) + newly);
      walked.set(process, { read: (walked.get(process)?.read ?? 0) + nodes, unread: unread_nodes });
      settled.found += newly;
      const key = `${process}/${graph}`;
      last.delete(key);
      last.set(key, { process, tensors, refused });
      const [oldest] = last;
      if (last.size <= GRAPHS || oldest === undefined) return;
      last.delete(oldest[0]);
      add(settled, oldest[1].process, oldest[1]);
    },
    counts() {
      const counts = { ...settled, refused: { ...settled.refused } };
      for (const reading of last.values()) add(counts, reading.process, reading);
      for (const [process, { read, unread }] of walked) {
        const missing = Math.ceil(((found.get(process) ?? 0) * unread) / Math.max(1, read));
        if (missing > 0) counts.refused.graph_unread = (counts.refused.graph_unread ?? 0) + missing;
      }
      return { ...counts, known: Math.max(0, counts.known - counts.found) };
    },
  };
}
