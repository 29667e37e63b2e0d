/** Looks at which pages of the target are in memory: process after process, piece after piece, a little at each poll. */
import { monotonicNs } from "../../../kernel/libc.ts";
import type { Look } from "../../../kernel/looks.ts";
import { openPagemap, type Pagemap, type ResidentRun } from "../../../kernel/pagemap.ts";
import { urgently } from "../../../kernel/urgent.ts";
import type { MappingRow } from "../../../regions/mapping-row.ts";
import type { RowOf } from "../../../schema/row.ts";
import type { Range } from "../watch/frame/ranges.ts";
import { createLookPace } from "./look-pace.ts";
import { MOST_MAPPING_BYTES, piecesOf } from "./pieces.ts";

type Row = RowOf<"residency">;

/** What is asked for at one poll takes no longer than this, and one piece. */
const POLL_NS = 2e6;
/** What is left to ask for at the end of the recording, as long as this lasts. */
const LAST_NS = 20e6;
/** Rows of one process in one look: pages that are so scattered are told of no more than in part. */
export const MOST_ROWS = 1 << 16;

/** Why a process was not looked at as a whole. */
export type GivenUp = "ended" | "denied" | "scattered" | "unreadable" | "no_time_left";

export interface LookingCounts {
  /** Looks at one process each that saw all its mappings, and the others. */
  readonly whole: number;
  readonly given_up: Readonly<Record<GivenUp, number>>;
  /** Mappings that are never asked for, as they are larger than 1 TiB, each at each look. */
  readonly too_large_mappings: number;
  readonly rows: number;
  /** Rows that were left out: the process had ended by then, and of one that has nothing is in memory. */
  readonly late_rows: number;
  readonly pieces: number;
  readonly held_ns: number;
  readonly longest_held_ns: number;
}

export interface LookingSources {
  readonly maps: {
    pids(): number[];
    /** In order of address. */
    mapsOf(pid: number): readonly Pick<MappingRow, "addr" | "size_bytes">[];
  };
  /** Counts and times what holds a lock of the target. */
  readonly look: Look;
  readonly open?: (pid: number, denied: () => void) => Pagemap | null;
  readonly nowNs?: () => bigint;
}

export interface Looking extends Disposable {
  /** Begins a look where it is time, or goes on with one; the rows of what was asked for. */
  poll(nowNs: bigint): Row[];
  /** The process ended, or runs another program: the look at it is over. */
  gone(pid: number): void;
  /** The last look, as far as there is time for it. */
  last(): Row[];
  readonly counts: LookingCounts;
}

interface Process {
  readonly pid: number;
  readonly pagemap: Pagemap;
  readonly pieces: readonly Range[];
  next: number;
  rows: number;
}

interface Turn {
  readonly beginNs: bigint;
  readonly number: number;
  readonly pids: number[];
  process: Process | null;
  held_ns: number;
  rows: number;
}

/** Rows of an answer: what was looked at, and what of it is in memory. */
function rowsOf(piece: Range, runs: readonly ResidentRun[], facts: Omit<Row, "kind" | "addr" | "size_bytes">): Row[] {
  const looked: Row = { ...facts, kind: "looked", addr: piece.from, size_bytes: piece.to - piece.from };
  const found = runs.map(({ addr, end }): Row => ({ ...facts, kind: "resident", addr, size_bytes: end - addr }));
  return [looked, ...found];
}

export function createLooking({ maps, look, open = openPagemap, nowNs = monotonicNs }: LookingSources): Looking {
  const pace = createLookPace(nowNs());
  const given_up: Record<GivenUp, number> = { ended: 0, denied: 0, scattered: 0, unreadable: 0, no_time_left: 0 };
  const counts = {
    whole: 0,
    too_large_mappings: 0,
    rows: 0,
    late_rows: 0,
    pieces: 0,
    held_ns: 0,
    longest_held_ns: 0,
  };
  let turn: Turn | null = null;
  let turns = 0;

  function begin(): Turn {
    turns += 1;
    turn = { beginNs: nowNs(), number: turns, pids: maps.pids(), process: null, held_ns: 0, rows: 0 };
    return turn;
  }

  /** The process is done with: whole, or why not. */
  function leave(now: Turn, why: GivenUp | null): void {
    now.process?.pagemap[Symbol.dispose]();
    now.process = null;
    if (why === null) counts.whole += 1;
    else given_up[why] += 1;
  }

  /** The process that is looked at, or the next one; null where all were. */
  function current(now: Turn): Process | null {
    while (now.process === null) {
      const pid = now.pids.shift();
      if (pid === undefined) return null;
      const mappings = maps.mapsOf(pid);
      if (mappings.length === 0) continue;
      counts.too_large_mappings += mappings.filter(({ size_bytes }) => size_bytes > MOST_MAPPING_BYTES).length;
      let why: GivenUp = "ended";
      const pagemap = open(pid, () => (why = "denied"));
      if (pagemap === null) given_up[why] += 1;
      else now.process = { pid, pagemap, pieces: piecesOf(mappings), next: 0, rows: 0 };
    }
    return now.process;
  }

  /** Asks for a piece, in as many questions as its runs take; null where the kernel cannot say. */
  function ask(now: Turn, { pid, pagemap }: Process, piece: Range): Row[] | null {
    const rows: Row[] = [];
    for (let from = piece.from; from < piece.to; ) {
      // Timed inside: at the end of what is urgent, others may take the CPU.
      const { timestamp_ns, scan, end_ns } = urgently(() => ({
        timestamp_ns: nowNs(),
        scan: look(() => pagemap.scan(from, piece.to)),
        end_ns: nowNs(),
      }));
      const held = Number(end_ns - timestamp_ns);
      counts.pieces += 1;
      counts.held_ns += held;
      counts.longest_held_ns = Math.max(counts.longest_held_ns, held);
      now.held_ns += held;
      if (scan === null || scan.until <= from) return null;
      rows.push(...rowsOf({ from, to: scan.until }, scan.runs, { timestamp_ns, end_ns, look: now.number, pid }));
      from = scan.until;
    }
    return rows;
  }

  /** Pieces of one process until a time; what was found holds if its address space is there still. */
  function goOn(now: Turn, process: Process, untilNs: bigint): Row[] {
    const rows: Row[] = [];
    let why: GivenUp | null = null;
    while (process.next < process.pieces.length && why === null) {
      const found = ask(now, process, process.pieces[process.next] as Range);
      process.next += 1;
      if (found === null) why = "unreadable";
      else rows.push(...found);
      if (process.rows + rows.length > MOST_ROWS) why = "scattered";
      if (nowNs() >= untilNs) break;
    }
    if (!process.pagemap.isAlive()) {
      counts.late_rows += rows.length;
      leave(now, "ended");
      return [];
    }
    process.rows += rows.length;
    now.rows += rows.length;
    counts.rows += rows.length;
    if (why !== null || process.next >= process.pieces.length) leave(now, why);
    return rows;
  }

  function work(now: Turn, forNs: number): Row[] {
    const rows: Row[] = [];
    const untilNs = nowNs() + BigInt(forNs);
    do {
      const process = current(now);
      if (process === null) {
        turn = null;
        pace.looked(now.beginNs, BigInt(now.held_ns), now.rows);
        break;
      }
      for (const row of goOn(now, process, untilNs)) rows.push(row);
    } while (nowNs() < untilNs);
    return rows;
  }

  return {
    poll(atNs) {
      if (turn === null && !pace.isDue(atNs)) return [];
      return work(turn ?? begin(), POLL_NS);
    },
    gone(pid) {
      if (turn?.process?.pid === pid) leave(turn, "ended");
    },
    last() {
      const rows = work(turn ?? begin(), LAST_NS);
      if (turn !== null) {
        const { process, pids } = turn;
        if (process !== null) leave(turn, "no_time_left");
        given_up.no_time_left += pids.length;
        turn = null;
      }
      return rows;
    },
    get counts() {
      return { ...counts, given_up: { ...given_up } };
    },
    [Symbol.dispose]() {
      turn?.process?.pagemap[Symbol.dispose]();
      turn = null;
    },
  };
}
