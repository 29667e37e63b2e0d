/** Looks at pages in memory, joined with the regions that lay there at that time. */
import { numberOrder } from "../../columnar/keys/number-order.ts";
import { twoWords } from "../../columnar/two-words.ts";
import { firstIndex } from "../../statistics/first-index.ts";
import type { Capture } from "../capture/capture.ts";
import { scanColumns } from "../capture/stream-columns.ts";
import { goneNs, type Places } from "./places.ts";
import { NO_LOOKS, type Residency } from "./residency.ts";

const WORD = 2 ** 32;

/** A range of an answer of the kernel; ns since the origin. */
interface Range {
  readonly begin: number;
  readonly end: number;
  readonly begin_ns: number;
  readonly end_ns: number;
}

/** What one look told of one process. */
interface LookAnswer {
  readonly look: number;
  readonly pid: number;
  readonly looked: Range[];
  readonly resident: Range[];
}

/** Bytes that ranges share with a region while it was there. @param ranges in order of address, apart from each other */
function shared(places: Places, row: number, ranges: readonly Range[]): number {
  const [begin, end] = [places.begin[row] as number, places.end[row] as number];
  const [birth, gone] = [places.birth_ns[row] as number, goneNs(places, row)];
  let sum = 0;
  for (let i = firstIndex(ranges.length, (range) => (ranges[range] as Range).end <= begin); i < ranges.length; i++) {
    const range = ranges[i] as Range;
    if (range.begin >= end) break;
    if (birth <= range.begin_ns && range.end_ns <= gone) sum += Math.min(end, range.end) - Math.max(begin, range.begin);
  }
  return sum;
}

/** The regions of a process that may have lived at a time which only grows. @param places in order of process */
function livingRows(places: Places, pid: number): (from_ns: number, until_ns: number) => readonly number[] {
  const first = firstIndex(places.count, (row) => (places.pid[row] as number) < pid);
  const behind = firstIndex(places.count, (row) => (places.pid[row] as number) <= pid);
  const rows = Uint32Array.from({ length: behind - first }, (_, i) => first + i);
  const born = numberOrder(rows, places.birth_ns);
  let next = 0;
  let living: number[] = [];
  return (from_ns, until_ns) => {
    for (; next < born.length && (places.birth_ns[born[next] as number] as number) <= until_ns; next++) {
      living.push(born[next] as number);
    }
    living = living.filter((row) => goneNs(places, row) >= from_ns);
    return living;
  };
}

/** Adds what each look tells, in their order, to the stays of the regions. */
function staysOfLooks(places: Places) {
  const latest = new Int32Array(places.count).fill(-1);
  const stays = {
    before: [] as number[],
    first_look: [] as number[],
    last_look: [] as number[],
    bytes: [] as number[],
  };
  const look_ns: number[] = [];
  const livings = new Map<number, ReturnType<typeof livingRows>>();
  let number = -1;

  function add(row: number, bytes: number): void {
    const look = look_ns.length - 1;
    const stay = latest[row] as number;
    if (stay >= 0 && stays.last_look[stay] === look) return;
    if (stay >= 0 && stays.last_look[stay] === look - 1 && stays.bytes[stay] === bytes) {
      stays.last_look[stay] = look;
      return;
    }
    stays.before.push(stay);
    stays.first_look.push(look);
    stays.last_look.push(look);
    latest[row] = stays.bytes.push(bytes) - 1;
  }

  return {
    take({ look, pid, looked, resident }: LookAnswer): void {
      if (looked.length === 0) return;
      const from_ns = looked.reduce((first, { begin_ns }) => Math.min(first, begin_ns), Number.POSITIVE_INFINITY);
      const until_ns = looked.reduce((last, { end_ns }) => Math.max(last, end_ns), Number.NEGATIVE_INFINITY);
      if (look !== number) look_ns.push(from_ns);
      number = look;
      const inOrder = (ranges: Range[]): Range[] => ranges.sort((a, b) => a.begin - b.begin);
      inOrder(looked);
      inOrder(resident);
      const living = livings.get(pid) ?? livingRows(places, pid);
      livings.set(pid, living);
      for (const row of living(from_ns, until_ns)) {
        const size = (places.end[row] as number) - (places.begin[row] as number);
        if (shared(places, row, looked) >= size) add(row, Math.min(size, shared(places, row, resident)));
      }
    },
    residency: (): Residency => ({ look_ns, latest, ...stays }),
  };
}

/** @param places the regions, in order of process; segments that cannot be read are added to `capture.skipped` */
export async function loadResidency(capture: Capture, places: Places, originNs: bigint): Promise<Residency> {
  if (capture.segments.residency.length === 0) return NO_LOOKS;
  const { low, high } = twoWords(originNs);
  const stays = staysOfLooks(places);
  let answer: LookAnswer = { look: -1, pid: -1, looked: [], resident: [] };
  const names = ["timestamp_ns", "end_ns", "look", "pid", "kind", "addr", "size_bytes"] as const;
  await scanColumns(capture, "residency", names, (columns, rows) => {
    const number = (words: Uint32Array, row: number): number =>
      (words[2 * row] as number) + (words[2 * row + 1] as number) * WORD;
    const time = (words: Uint32Array, row: number): number =>
      (words[2 * row] as number) - low + ((words[2 * row + 1] as number) - high) * WORD;
    for (let row = 0; row < rows; row++) {
      const [look, pid] = [columns.look.words[row] as number, columns.pid.words[row] as number];
      if (look !== answer.look || pid !== answer.pid) {
        stays.take(answer);
        answer = { look, pid, looked: [], resident: [] };
      }
      const begin = number(columns.addr.words, row);
      const isLooked = columns.kind.texts[columns.kind.words[row] as number] === "looked";
      (isLooked ? answer.looked : answer.resident).push({
        begin,
        end: begin + number(columns.size_bytes.words, row),
        begin_ns: time(columns.timestamp_ns.words, row),
        end_ns: time(columns.end_ns.words, row),
      });
    }
  });
  stays.take(answer);
  return stays.residency();
}
