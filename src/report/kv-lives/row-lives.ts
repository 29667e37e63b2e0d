/** The lives of KV rows by sequence and in equal parts of time, as the tables of a run have them. */
import { type Database, parquetScan, quotePath } from "../../sql/database.ts";

/** Rows of one sequence that share their parts of time and how they ended. */
export interface RowGroup {
  readonly rows: number;
  /** Part of time in which they were written, of the last step that needed them, and in which they left. */
  readonly written: number;
  /** Null for none. */
  readonly needed: number | null;
  readonly left: number | null;
  readonly ended_by: string | null;
  /** True where the step that wrote one wrote others of its sequence too. */
  readonly together: boolean;
  readonly shared: boolean;
}

/** What came from outside of the rows: positions that moved, a state that came back, rows of another sequence. */
export interface LifeEvent {
  readonly kind: "kv_shift" | "kv_restore" | "kv_copy";
  readonly part: number;
}

export interface RequestSpan {
  readonly label: string;
  readonly first: number;
  readonly last: number;
}

export interface SequenceLives {
  readonly pid: number;
  readonly context: string | null;
  /** Null where the engine names none. */
  readonly sequence: number | null;
  readonly rows: number;
  readonly most_at_once: number;
  readonly fillings: number;
  /** Later steps that needed its rows, summed over these. */
  readonly needs: number;
  readonly groups: readonly RowGroup[];
  readonly events: readonly LifeEvent[];
  /** Other sequences that had some of its rows, and how many. */
  readonly shared_with: readonly (readonly [sequence: number, rows: number])[];
  readonly requests: readonly RequestSpan[];
}

export interface KvLives {
  /** From the first row that was written to the last that happened to any. */
  readonly span_ns: number;
  readonly parts: number;
  /** With most rows, in order of process, cache and number. */
  readonly sequences: readonly SequenceLives[];
  /** Those that are left out, and their rows. */
  readonly left_out: { readonly sequences: number; readonly rows: number };
  /** Tensors in which each of these rows lies, by process and cache. */
  readonly tensors: ReadonlyMap<string, number>;
  /** Those that keep a token for another time, as of layers that look back over a window. */
  readonly other_tensors: ReadonlyMap<string, number>;
}

export interface LifeFiles {
  /** kv_block_lifecycle.parquet. */
  readonly rows: string;
  readonly requests: readonly string[];
  readonly steps: readonly string[];
}

/** More lines than that nobody reads. */
const MOST_SEQUENCES = 16;
const MOST_EVENTS = 100_000;

type Row = Awaited<ReturnType<Database["rows"]>>[number];

export const cacheOf = ({ pid, context }: { readonly pid: number; readonly context: string | null }): string =>
  `${pid}/${context ?? ""}`;

const nullable = (value: Row[string] | undefined): number | null => (value == null ? null : Number(value));
const text = (value: Row[string] | undefined): string | null => (typeof value === "string" ? value : null);
const nameOf = (row: Row) => ({
  pid: Number(row.pid),
  context: text(row.context),
  sequence: nullable(row.sequence_id),
});
type Named = ReturnType<typeof nameOf>;
const keyOf = ({ sequence, ...cache }: Named): string => `${cacheOf(cache)}/${sequence ?? ""}`;

/** One row for each token: that in one tensor of its cache stands for all that keep it as long, of those that need it most. */
async function openLives(database: Database, path: string): Promise<void> {
  const file = parquetScan([path]);
  const columns = await database.rows(`SELECT name FROM parquet_schema(${quotePath(path)})`);
  // A run of before that column says nothing of it.
  const shared = columns.some(({ name }) => name === "shared_with") ? "shared_with" : "NULL::VARCHAR";
  await database.run(`CREATE TEMP TABLE places AS
    WITH sums AS (SELECT pid, context, concat(tensor, ':', layer) AS place, sum(total_reads) AS needs,
      sum(hash(write_ns, last_read_ns, evict_ns, total_reads)) AS way FROM ${file} GROUP BY ALL)
    SELECT *, row_number() OVER (PARTITION BY pid, context ORDER BY needs DESC, place) AS number,
      way = first_value(way) OVER (PARTITION BY pid, context ORDER BY needs DESC, place) AS is_alike FROM sums`);
  await database.run(`CREATE TEMP TABLE lives AS
    WITH placed AS (SELECT *, ${shared} AS others, concat(tensor, ':', layer) AS place FROM ${file}),
    caches AS (SELECT pid, context, place FROM places WHERE number = 1)
    SELECT placed.pid, placed.context, sequence_id, filling, write_ns, nullif(last_read_ns, 0) AS needed_ns, evict_ns,
      total_reads, ended_by, others, requests,
      count(*) OVER (PARTITION BY placed.pid, placed.context, sequence_id, write_ns) > 1 AS together
    FROM placed JOIN caches ON placed.pid = caches.pid AND placed.context IS NOT DISTINCT FROM caches.context
      AND placed.place = caches.place`);
}

interface TimeAxis {
  readonly first_ns: bigint;
  readonly part_ns: bigint;
  readonly parts: number;
}

/** Null where the column is: `least` passes over what is null. */
const partSql = ({ first_ns, part_ns, parts }: TimeAxis, column: string): string =>
  `CASE WHEN ${column} IS NOT NULL THEN least(${parts - 1}, (${column} - ${first_ns}) // ${part_ns}) END`;

function partOf({ first_ns, part_ns, parts }: TimeAxis, ns: bigint): number {
  return Math.max(0, Math.min(parts - 1, Number((ns - first_ns) / part_ns)));
}

async function groupsOf(database: Database, axis: TimeAxis): Promise<ReadonlyMap<string, RowGroup[]>> {
  const rows = await database.rows(`
    SELECT pid, context, sequence_id, ${partSql(axis, "write_ns")} AS written, ${partSql(axis, "needed_ns")} AS needed,
      ${partSql(axis, "evict_ns")} AS gone, ended_by, together, others IS NOT NULL AS shared, count(*) AS n
    FROM lives GROUP BY ALL ORDER BY ALL`);
  const found = new Map<string, RowGroup[]>();
  for (const row of rows) {
    const key = keyOf(nameOf(row));
    const groups = found.get(key) ?? [];
    found.set(key, groups);
    groups.push({
      rows: Number(row.n),
      written: Number(row.written),
      needed: nullable(row.needed),
      left: nullable(row.gone),
      ended_by: text(row.ended_by),
      together: row.together === true,
      shared: row.shared === true,
    });
  }
  return found;
}

async function sharersOf(database: Database): Promise<ReadonlyMap<string, Map<number, number>>> {
  const rows = await database.rows(`
    SELECT pid, context, sequence_id, others, count(*) AS n FROM lives WHERE others IS NOT NULL GROUP BY ALL ORDER BY ALL`);
  const found = new Map<string, Map<number, number>>();
  for (const row of rows) {
    const key = keyOf(nameOf(row));
    const counts = found.get(key) ?? new Map<number, number>();
    found.set(key, counts);
    const others: unknown = JSON.parse(text(row.others) ?? "[]");
    if (!Array.isArray(others)) continue;
    for (const other of others.filter(Number.isSafeInteger))
      counts.set(other, (counts.get(other) ?? 0) + Number(row.n));
  }
  return found;
}

/** What the steps tell of sequences that no row tells. */
async function eventsOf(database: Database, axis: TimeAxis, files: readonly string[]) {
  if (files.length === 0) return [];
  const rows = await database.rows(`
    SELECT pid, kind, sequence_id, timestamp_ns, detail FROM ${parquetScan(files)}
    WHERE kind IN ('kv_shift', 'kv_restore', 'kv_copy') ORDER BY timestamp_ns LIMIT ${MOST_EVENTS}`);
  return rows.map((row) => {
    const context = /"context":"([^"]{1,100})"/.exec(text(row.detail) ?? "")?.[1] ?? null;
    const kind = row.kind as LifeEvent["kind"];
    const part = partOf(axis, BigInt(row.timestamp_ns as bigint));
    return { kind, part, pid: Number(row.pid), context, sequence: nullable(row.sequence_id) };
  });
}

/** Requests with the sequence in which each was served, from its first batch to its last token. */
async function requestsOf(database: Database, axis: TimeAxis, files: readonly string[]) {
  if (files.length === 0) return [];
  const rows = await database.rows(`
    SELECT request_id, sequence_id, timestamp_ns + coalesce(wait_ns, 0) AS first_ns,
      timestamp_ns + coalesce(ttft_ns, 0) + coalesce(generation_ns, 0) AS last_ns
    FROM ${parquetScan(files)} WHERE sequence_id IS NOT NULL ORDER BY first_ns`);
  return rows.map((row) => {
    const [first, last] = [BigInt(row.first_ns as bigint), BigInt(row.last_ns as bigint)].map((ns) => partOf(axis, ns));
    return { label: String(row.request_id), first: first ?? 0, last: last ?? 0, sequence: nullable(row.sequence_id) };
  });
}

/** Null where the run has no row of a KV cache. @param parts of time, equal ones */
export async function readKvLives(database: Database, files: LifeFiles, parts: number): Promise<KvLives | null> {
  await openLives(database, files.rows);
  const [span] = await database.rows(
    "SELECT min(write_ns) AS first_ns, max(greatest(write_ns, needed_ns, evict_ns)) AS last_ns FROM lives",
  );
  if (span?.first_ns == null || span.last_ns == null) return null;
  const [first_ns, last_ns] = [BigInt(span.first_ns as bigint), BigInt(span.last_ns as bigint)];
  const axis = { first_ns, part_ns: (last_ns - first_ns) / BigInt(parts) + 1n, parts };
  const sums = await database.rows(`
    WITH changes AS (
      SELECT pid, context, sequence_id, write_ns AS ns, 1 AS n FROM lives
      UNION ALL SELECT pid, context, sequence_id, evict_ns, -1 FROM lives WHERE evict_ns IS NOT NULL),
    held AS (SELECT pid, context, sequence_id,
        sum(n) OVER (PARTITION BY pid, context, sequence_id ORDER BY ns, n ROWS UNBOUNDED PRECEDING) AS n FROM changes),
    most AS (SELECT pid, context, sequence_id, max(n) AS most FROM held GROUP BY ALL),
    sums AS (SELECT pid, context, sequence_id, count(*) AS n, count(DISTINCT filling) AS fillings, sum(total_reads) AS needs
      FROM lives GROUP BY ALL)
    SELECT sums.*, most FROM sums JOIN most ON sums.pid = most.pid AND sums.context IS NOT DISTINCT FROM most.context
      AND sums.sequence_id IS NOT DISTINCT FROM most.sequence_id
    ORDER BY n DESC, pid, context, sums.sequence_id`);
  const tensors = await database.rows(`
    SELECT pid, context, count(*) FILTER (WHERE is_alike) AS n, count(*) FILTER (WHERE NOT is_alike) AS others
    FROM places GROUP BY ALL`);
  const [groups, sharers, events, requests] = [
    await groupsOf(database, axis),
    await sharersOf(database),
    await eventsOf(database, axis, files.steps),
    await requestsOf(database, axis, files.requests),
  ];
  /** Sequences are numbered in each cache: of several nobody says in which a request was. */
  const isOneCache = new Set(sums.map((row) => cacheOf(nameOf(row)))).size === 1;
  const sequences = sums.slice(0, MOST_SEQUENCES).map((row): SequenceLives => {
    const name = nameOf(row);
    const key = keyOf(name);
    return {
      ...name,
      rows: Number(row.n),
      most_at_once: Number(row.most),
      fillings: Number(row.fillings),
      needs: Number(row.needs),
      groups: groups.get(key) ?? [],
      events: events.filter((one) => keyOf(one) === key),
      shared_with: [...(sharers.get(key) ?? [])],
      requests: isOneCache ? requests.filter(({ sequence }) => sequence === name.sequence) : [],
    };
  });
  const byName = (one: SequenceLives, other: SequenceLives): number =>
    one.pid - other.pid ||
    (one.context ?? "").localeCompare(other.context ?? "") ||
    (one.sequence ?? -1) - (other.sequence ?? -1);
  const rest = sums.slice(MOST_SEQUENCES);
  return {
    span_ns: Number(last_ns - first_ns),
    parts,
    sequences: sequences.sort(byName),
    left_out: { sequences: rest.length, rows: rest.reduce((sum, { n }) => sum + Number(n), 0) },
    tensors: new Map(tensors.map((row) => [cacheOf(nameOf(row)), Number(row.n)])),
    other_tensors: new Map(tensors.map((row) => [cacheOf(nameOf(row)), Number(row.others)])),
  };
}
