/** The segments of a stream in a run directory: their names and their order. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { MrmTraceError } from "../errors.ts";
import type { TableName } from "../schema/columns.ts";

/** One closed segment; a file still under its temporary name is none. */
export interface Segment {
  readonly path: string;
  /** CLOCK_MONOTONIC of its first row. */
  readonly t0_ns: bigint;
  /** Number of the segment in its stream, from 0. */
  readonly sequence: number;
}

const NAME = /^(\d{1,20})-(\d{1,15})\.parquet$/;

/** True for the path of a segment below a run directory, with `/`. */
export function isSegmentPath(path: string): boolean {
  const [folder, , name, ...more] = path.split("/");
  return folder === "capture" && name !== undefined && more.length === 0 && NAME.test(name);
}

/** File name of a segment. */
export function segmentName(t0_ns: bigint, sequence: number): string {
  return `${t0_ns}-${sequence}.parquet`;
}

/** The closed segments of a stream in the order in which they were written; none where the run has no such stream. */
export function listSegments(runDir: string, table: TableName): Segment[] {
  const dir = join(runDir, "capture", table);
  let names: string[];
  try {
    names = readdirSync(dir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw new MrmTraceError("data_quality", `cannot list ${dir}`, "check its permissions", { cause: error });
  }
  const segments: Segment[] = [];
  for (const name of names) {
    const match = NAME.exec(name);
    if (match) {
      segments.push({ path: join(dir, name), t0_ns: BigInt(match[1] ?? 0), sequence: Number(match[2]) });
    }
  }
  return segments.sort((a, b) => a.sequence - b.sequence);
}
