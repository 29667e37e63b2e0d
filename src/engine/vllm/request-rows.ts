/** Which rows of the cache a step writes, of which sequence each is, and which rows of others a sequence begins with. */
import type { StepRequest } from "./step-blocks.ts";

type CellRange = readonly [first: number, count: number];

/** Rows that a sequence has from another one, at the same positions. */
export interface SharedRows {
  readonly sequence: number;
  readonly sequence_from: number;
  readonly position_from: number;
  readonly position_to: number;
  /** True where the other one writes them in this very step. */
  readonly is_fresh: boolean;
}

export interface StepRows {
  /** [sequence, first position, tokens] of each request, in the order of the tokens. */
  readonly kv_rows: readonly (readonly [sequence: number, position: number, tokens: number])[];
  /** Cells of these tokens in their order. */
  readonly kv_row_cells: readonly CellRange[];
  /** Rows in front of those, of sequences that begin in this step. */
  readonly shared: readonly SharedRows[];
  /** Cells that held rows of blocks which were given out again: all that a block held is gone then, written over or not. */
  readonly freed: readonly FreedBlock[];
  /** Sequences of which the step has one token, which is of their prompt: they begin with it, or have the others of another one. */
  readonly prompts: readonly number[];
}

export interface FreedBlock {
  readonly cells: CellRange;
  /** True where each of its cells had a row: a prefix can be found by such blocks alone. */
  readonly is_full: boolean;
}

export interface RequestRows {
  rowsOf(requests: readonly StepRequest[]): StepRows;
}

/** Whose row a cell holds. */
interface Holder {
  readonly sequence: number;
  readonly position: number;
  /** Number of the step that wrote it. */
  readonly step: number;
}

/** What a sequence wrote in its last step. */
interface LastWrite {
  /** Its last cell. */
  readonly cell: number;
  /** Position of its first. */
  readonly first: number;
  readonly step: number;
  /** Steps of one token up to this one. */
  readonly singles: number;
}

/** After so many steps of one token a sequence decodes: one whose prompt comes in parts may have a part of one. */
const DECODES = 2;

/**
 * Numbers the sequences, which vLLM's attention does not name: a request goes on where the cell in front of its tokens is the
 * last that a sequence wrote, at that position, or one of its last step behind which it gave up what it had guessed; another one is
 * new, and shares what those before have written into its blocks.
 */
export function requestRows(blockTokens: number): RequestRows {
  /** By cell, what was seen to be written there; a block that is given out again is written over. */
  const holders = new Map<number, Holder>();
  const ends = new Map<number, LastWrite>();
  /** A sequence was seen to give up what it had guessed. */
  let guesses = false;
  let next = 0;
  let step = 0;

  const cellOf = ({ blocks }: StepRequest, position: number): number =>
    (blocks[Math.floor(position / blockTokens)] ?? 0) * blockTokens + (position % blockTokens);

  /** True where who goes on behind the last cell of a sequence is another request: it found its full blocks by their prefix. */
  function isFollower({ tokens }: StepRequest, before: number, { singles }: LastWrite): boolean {
    return (before + 1) % blockTokens === 0 && singles >= DECODES && tokens > 1 && !guesses;
  }

  /** True where a sequence writes again what it wrote in the step before, from a position on. */
  function goesBack(request: StepRequest, sequence: number, position: number, last: LastWrite): boolean {
    const there = holders.get(cellOf(request, position));
    if (there?.sequence !== sequence || there.position !== position) return false;
    if (last.step !== step - 1 || position <= last.first) return false;
    // Another request, which has the same prefix, begins with a whole block.
    const isSame = position % blockTokens !== 0 || guesses;
    guesses ||= isSame;
    return isSame;
  }

  function goesOn(request: StepRequest, taken: ReadonlySet<number>): number | null {
    const before = request.length - request.tokens - 1;
    if (before < 0) return null;
    const cell = cellOf(request, before);
    const holder = holders.get(cell);
    if (holder?.position !== before || taken.has(holder.sequence)) return null;
    const last = ends.get(holder.sequence);
    if (last === undefined) return null;
    const isSame =
      last.cell === cell ? !isFollower(request, before, last) : goesBack(request, holder.sequence, before + 1, last);
    return isSame ? holder.sequence : null;
  }

  /** What is known of the rows that a new sequence begins with. */
  function sharedBy(request: StepRequest, sequence: number): SharedRows[] {
    const out: (SharedRows & { position_to: number })[] = [];
    for (let position = 0; position < request.length - request.tokens; position++) {
      const holder = holders.get(cellOf(request, position));
      if (holder?.position !== position) continue;
      const is_fresh = holder.step === step;
      const run = out.at(-1);
      const isNext = run?.position_to === position && run.is_fresh === is_fresh;
      if (isNext && run.sequence_from === holder.sequence) run.position_to += 1;
      else {
        const place = { sequence, sequence_from: holder.sequence, position_from: position, position_to: position + 1 };
        out.push({ ...place, is_fresh });
      }
    }
    return out;
  }

  /** What a block holds that somebody begins to write. */
  function empty(block: number): FreedBlock | null {
    const first = block * blockTokens;
    let held = false;
    // Rows of a block are written in their order: those in front of the first that was seen may have been there before.
    const is_full = holders.has(first + blockTokens - 1);
    for (let cell = first; cell < first + blockTokens; cell++) {
      const holder = holders.get(cell);
      if (holder === undefined) continue;
      held = true;
      holders.delete(cell);
      // Nobody goes on behind it any more.
      if (ends.get(holder.sequence)?.cell === cell) ends.delete(holder.sequence);
    }
    return held ? { cells: [first, blockTokens], is_full } : null;
  }

  /**
   * Numbers of the requests, each behind those that write what it has in front of its tokens: a request finds blocks by their prefix
   * that another one fills in the same step, and stands before it where it took the place of one that ended.
   */
  function inOrder(requests: readonly StepRequest[]): readonly number[] {
    const fillers = new Map<number, number>();
    for (const [i, { tokens, length, blocks }] of requests.entries()) {
      const [from, end] = [length - tokens, length].map((position) => Math.floor(position / blockTokens));
      for (const block of blocks.slice(from, end)) fillers.set(block, i);
    }
    const order: number[] = [];
    const visited = new Set<number>();
    function visit(i: number): void {
      const request = requests[i];
      if (request === undefined || visited.has(i)) return;
      visited.add(i);
      const front = fillers.size > 0 ? Math.floor((request.length - request.tokens) / blockTokens) : 0;
      for (const block of request.blocks.slice(0, front)) visit(fillers.get(block) ?? -1);
      order.push(i);
    }
    for (const i of requests.keys()) visit(i);
    return order;
  }

  /** Cells of the tokens in their order. */
  function cellsOf(requests: readonly StepRequest[]): CellRange[] {
    const runs: [number, number][] = [];
    for (const request of requests) {
      for (let position = request.length - request.tokens; position < request.length; position++) {
        const cell = cellOf(request, position);
        const run = runs.at(-1);
        if (run !== undefined && run[0] + run[1] === cell) run[1] += 1;
        else runs.push([cell, 1]);
      }
    }
    return runs;
  }

  return {
    rowsOf(requests) {
      const sequences = new Map<number, number>();
      const shared: SharedRows[] = [];
      const freed: FreedBlock[] = [];
      const prompts: number[] = [];
      const taken = new Set<number>();
      step += 1;
      for (const i of inOrder(requests)) {
        const request = requests[i];
        if (request === undefined) continue;
        const { tokens, length } = request;
        const earlier = goesOn(request, taken);
        const sequence = earlier ?? next++;
        sequences.set(i, sequence);
        taken.add(sequence);
        // What a request before it writes in this step is there for it already.
        const others = earlier === null ? sharedBy(request, sequence) : [];
        shared.push(...others);
        const front = length - tokens;
        const isBegun = front === 0 || others.some(({ position_to }) => position_to === front);
        if (earlier === null && tokens === 1 && isBegun) prompts.push(sequence);
        for (let position = length - tokens; position < length; position++) {
          const cell = cellOf(request, position);
          // Blocks are shared whole: whoever writes the first row of one has got it anew.
          const isOwn = holders.get(cell)?.sequence === sequence;
          const gone = position % blockTokens === 0 && !isOwn ? empty(Math.floor(cell / blockTokens)) : null;
          if (gone !== null) freed.push(gone);
          holders.set(cell, { sequence, position, step });
        }
        const singles = tokens === 1 ? (ends.get(sequence)?.singles ?? 0) + 1 : 0;
        ends.set(sequence, { cell: cellOf(request, length - 1), first: length - tokens, step, singles });
      }
      const kv_rows = requests.map(
        ({ tokens, length }, i) => [sequences.get(i) ?? -1, length - tokens, tokens] as const,
      );
      return { kv_rows, kv_row_cells: cellsOf(requests), shared, freed, prompts };
    },
  };
}
