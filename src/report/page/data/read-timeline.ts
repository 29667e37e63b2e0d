/** The target over time for the page: memory, faults, phases and tokens, as many points as can be seen. */
import { existsSync } from "node:fs";
import { bigintAt, numberAt, textAt } from "../../../columnar/cell.ts";
import type { Maybe, PhaseSpan, TimelineColumns } from "./page-data.ts";
import { batchesOf } from "./run-table.ts";

const MOST_POINTS = 1024;

export interface ReadTimeline {
  readonly points: Maybe<TimelineColumns>;
  readonly phases: readonly PhaseSpan[];
}

/** Of these a point has the most of its rows, of the others the sum. */
const MOST_OF = ["rss_anon_bytes", "rss_file_bytes", "rss_shmem_bytes"] as const;
const SUM_OF = ["minor_faults", "major_faults"] as const;

/** The rows as plain columns; times in ms of the run. */
interface Rows {
  readonly ms: number[];
  readonly token: (number | null)[];
  readonly phase: (string | null)[];
  readonly step: (string | null)[];
  readonly numbers: Readonly<Record<(typeof MOST_OF)[number] | (typeof SUM_OF)[number], number[]>>;
}

function readRows(path: string, origin_ns: bigint): Rows {
  const numbers = { rss_anon_bytes: [], rss_file_bytes: [], rss_shmem_bytes: [], minor_faults: [], major_faults: [] };
  const out: Rows = { ms: [], token: [], phase: [], step: [], numbers };
  for (const { rows, columns } of batchesOf(path, "process_timeline")) {
    for (let row = 0; row < rows; row++) {
      out.ms.push(Number((bigintAt(columns.timestamp_ns, row) ?? 0n) - origin_ns) / 1e6);
      out.token.push(numberAt(columns.token_index, row));
      out.phase.push(textAt(columns.phase, row));
      out.step.push(textAt(columns.step, row));
      for (const name of [...MOST_OF, ...SUM_OF]) out.numbers[name].push(numberAt(columns[name], row) ?? 0);
    }
  }
  return out;
}

/** Neighbours taken together, so that there are no more points than can be seen. */
function pointsOf({ ms, token, numbers }: Rows): TimelineColumns {
  const count = Math.min(MOST_POINTS, ms.length);
  const begins = Array.from({ length: count + 1 }, (_, point) => Math.round((point * ms.length) / count));
  const each = <T>(valueFor: (begin: number, end: number) => T): T[] =>
    begins.slice(0, -1).map((begin, point) => valueFor(begin, begins[point + 1] ?? begin));
  const most = (column: readonly number[]) => each((begin, end) => Math.max(...column.slice(begin, end)));
  const sum = (column: readonly number[]) => each((begin, end) => column.slice(begin, end).reduce((a, b) => a + b, 0));
  return {
    time_ms: each((begin) => Math.round(ms[begin] ?? 0)),
    rss_anon_bytes: most(numbers.rss_anon_bytes),
    rss_file_bytes: most(numbers.rss_file_bytes),
    rss_shmem_bytes: most(numbers.rss_shmem_bytes),
    minor_faults: sum(numbers.minor_faults),
    major_faults: sum(numbers.major_faults),
    token_index: each((begin, end) =>
      token.slice(begin, end).reduce((a, b) => (b === null || (a ?? -1) > b ? a : b), null),
    ),
  };
}

/** From one change of the phase to the next; a span ends where the next one begins, as between two readings nobody looked. */
function phasesOf({ ms, phase, step }: Rows): PhaseSpan[] {
  const spans: { phase: string; step: string | null; begin: number; end: number }[] = [];
  for (const [row, name] of phase.entries()) {
    if (name === null) continue;
    const [time, part] = [ms[row] ?? 0, step[row] ?? null];
    const last = spans.at(-1);
    const goesOn = phase[row - 1] === name && (step[row - 1] ?? null) === part;
    if (goesOn && last !== undefined) last.end = time;
    else spans.push({ phase: name, step: part, begin: time, end: time });
  }
  return spans.map(({ begin, end, ...named }, i) => ({
    ...named,
    begin_ms: Math.round(begin),
    end_ms: Math.round(spans[i + 1]?.begin ?? end),
  }));
}

/** The rows of process_timeline.parquet, which are in order of time. @throws as `batchesOf` */
export function readTimeline(path: string, origin_ns: bigint): ReadTimeline {
  if (!existsSync(path)) return { points: { why: "the run has no process_timeline.parquet" }, phases: [] };
  const rows = readRows(path, origin_ns);
  if (rows.ms.length === 0)
    return { points: { why: "the process was gone before its memory could be read" }, phases: [] };
  return { points: { data: pointsOf(rows) }, phases: phasesOf(rows) };
}
