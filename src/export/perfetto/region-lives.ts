/** The regions of the map: how long each lived, and how many bytes of each class there were. */
import type { DuckDBValue } from "@duckdb/node-api";
import { collectAfter } from "../../columnar/collect-after.ts";
import { tableFiles } from "../../run-directory/table-files.ts";
import { type Database, parquetScan } from "../../sql/database.ts";
import { formatCounted } from "../../units.ts";
import { streamRows } from "../database.ts";
import type { ExportTask } from "../export-format.ts";
import { lanes } from "./lanes.ts";
import { type Annotation, words } from "./messages.ts";
import type { CounterTrack, TraceWriter, Track } from "./trace-writer.ts";

/** Which regions are shown, and what the bytes of a class are. */
interface Shown {
  readonly which: string;
  readonly bytes: "mapped" | "allocated";
}
/** What memray saw lies inside of other regions, and would count twice. */
const MAPPINGS: Shown = { which: "evidence <> 'memray'", bytes: "mapped" };
/** Of a capture of memray alone nobody knows the regions around its allocations. */
const ALLOCATIONS: Shown = { which: "evidence = 'memray'", bytes: "allocated" };
/** More slices than anybody looks at, or a browser holds. */
const MOST_REGIONS = 200_000;
const PIECE = 4096;
/** Rows until what their packets left behind is collected. */
const COLLECT_AFTER = 1 << 16;

/** The largest of them, in the order of their birth. */
function regionsSql(files: readonly string[], { which }: Shown): string {
  return `SELECT pid, region_type, coalesce(tensor, name, mapping_kind, region_type), birth_ns, death_ns, addr, size_bytes,
    layer, birth_censored, death_censored, evidence, confidence
    FROM (SELECT * FROM ${parquetScan(files)} WHERE ${which} ORDER BY size_bytes DESC, birth_ns, pid, addr LIMIT ${MOST_REGIONS})
    ORDER BY birth_ns, pid, addr`;
}

/** By class and moment how many bytes came and went; what was there at the end stays. */
function changesSql(files: readonly string[], { which }: Shown): string {
  const events = (time: string, sign: string, more: string): string =>
    `SELECT region_type, ${time} AS time, ${sign}CAST(size_bytes AS HUGEINT) AS bytes FROM ${parquetScan(files)} WHERE ${which}${more}`;
  return `SELECT region_type, time, CAST(sum(bytes) AS BIGINT) AS bytes
    FROM (${events("birth_ns", "", "")} UNION ALL ${events("death_ns", "-", " AND NOT death_censored")})
    GROUP BY region_type, time HAVING sum(bytes) <> 0 ORDER BY time, region_type`;
}

function aboutRegion([addr, size, layer, isOld, isAlive, evidence, confidence]: readonly DuckDBValue[]): Annotation[] {
  return [
    { name: "address", pointer_value: words(BigInt(String(addr))) },
    { name: "size_bytes", uint_value: words(BigInt(String(size))) },
    ...(layer === null ? [] : [{ name: "layer", uint_value: words(BigInt(String(layer))) }]),
    ...(isOld === true ? [{ name: "birth_censored", bool_value: true }] : []),
    ...(isAlive === true ? [{ name: "death_censored", bool_value: true }] : []),
    { name: "evidence", string_value: String(evidence) },
    { name: "confidence", double_value: Number(confidence) },
  ];
}

/** Writes the life of each region on tracks of its class and process, and a counter of bytes for each class. */
export async function writeRegionLives(
  database: Database,
  { run, goOn, leaveOut }: ExportTask,
  writer: TraceWriter,
): Promise<void> {
  if (!run.tables.includes("region_map")) return;
  const files = tableFiles(run.runDir, "region_map");
  const countOf = async ({ which }: Shown): Promise<number> =>
    Number((await database.rows(`SELECT count(*) AS n FROM ${parquetScan(files)} WHERE ${which}`))[0]?.n ?? 0);
  const mappings = await countOf(MAPPINGS);
  const shown = mappings > 0 ? MAPPINGS : ALLOCATIONS;
  const counted = mappings > 0 ? mappings : await countOf(ALLOCATIONS);
  const all = Math.min(MOST_REGIONS, counted);
  const smaller = counted - all;
  if (smaller > 0) leaveOut(`lives of ${formatCounted(smaller, "region")}, the smallest; counters of bytes have them`);
  const tracks = new Map<string, Track>();
  let done = 0;
  const made = collectAfter(COLLECT_AFTER);
  for await (const [pid, type, name, birth, death, ...about] of streamRows(database, regionsSql(files, shown))) {
    const key = `${pid}/${type}`;
    const track = tracks.get(key) ?? lanes(() => writer.track(Number(pid), `${type} regions`));
    tracks.set(key, track);
    track.slice(String(name), birth as bigint, death as bigint, aboutRegion(about));
    made(1);
    if (++done % PIECE === 0) await goOn(done, done / all);
  }
  const counters = new Map<string, { readonly track: CounterTrack; bytes: bigint }>();
  for await (const [type, time, bytes] of streamRows(database, changesSql(files, shown))) {
    const name = String(type);
    const counter = counters.get(name) ?? { track: writer.counter(null, `${name} ${shown.bytes}`, "bytes"), bytes: 0n };
    counters.set(name, counter);
    counter.bytes += bytes as bigint;
    counter.track.count(time as bigint, counter.bytes);
    made(1);
    if (++done % PIECE === 0) await goOn(done, null);
  }
}
