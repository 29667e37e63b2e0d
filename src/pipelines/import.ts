/** A file that another tool recorded becomes a run directory: its rows into capture/, then analysed as any run. */
import { closeSync, openSync, readSync } from "node:fs";
import { basename, join } from "node:path";
import type { Imported, Importer } from "../collect/importer.ts";
import { IMPORTERS } from "../collect/importers.ts";
import { plausibleTimes, withoutImplausible } from "../collect/plausible-times.ts";
import type { Batch } from "../columnar/batch.ts";
import { collectAfter } from "../columnar/collect-after.ts";
import { openEncoder } from "../columnar/segments/encoder.ts";
import { openSegmentWriter, type SegmentWriter } from "../columnar/segments/segment-writer.ts";
import type { CommandRecording } from "../config/schema.ts";
import { MrmTraceError, reasonText } from "../errors.ts";
import { judgeValidity } from "../overhead/validity.ts";
import { createRun, discardRun } from "../run-directory/create-run.ts";
import { type RunFacts, unknownFacts, writeFacts } from "../run-directory/facts.ts";
import { shownError } from "../run-directory/held-folder.ts";
import { lookAt } from "../run-directory/named-path.ts";
import { recordedCommand } from "../run-directory/recorded-command.ts";
import { holdRun, modelSlug, newRunId, type RunDirectory } from "../run-directory/run-directory.ts";
import { STREAMS, type StreamName } from "../schema/columns.ts";
import type { LedgerRow } from "../schema/ledger.ts";
import { worstLossPct } from "../schema/loss.ts";
import { formatCounted } from "../units.ts";
import type { Derived } from "./derive.ts";
import { derivingLimits } from "./deriving-memory.ts";
import { heard } from "./heard.ts";

export interface ImportRequest {
  readonly file: string;
  readonly output: string;
  readonly run_id: string | undefined;
  readonly force: boolean;
  readonly record_command: CommandRecording;
  /** Ends it, and then nothing is left. */
  readonly signal: AbortSignal;
}

/** Bytes of segments that may wait for the encoder, and how many of them hold the reading up. */
const MAX_QUEUE_BYTES = 40 * 2 ** 20;
const FULL_BYTES = 6 * 2 ** 20;
const WAIT_MS = 1;
/** Half of what a run puts into a segment: rows are there as fast as they are written, and many wait at a time. */
const SEGMENT_ROWS = 1 << 16;
/** Streams whose rows are never objects; what is left of those that are is collected after so many rows. */
const OF_ARRAYS: ReadonlySet<StreamName> = new Set(["access", "fault", "allocation"]);
const OBJECT_ROWS = 1 << 14;
/** A file of any size is imported in a few hundred MB: the SQL engine spills to disk before it takes more. */
const ENGINE_LIMITS = { threads: 1, memoryLimitBytes: 96 * 2 ** 20 } as const;
/** What deriving may take: an import is of a file of anybody's. */
const IMPORT_MEMORY_BYTES = 300 * 2 ** 20;
const LOOK_BYTES = 1 << 16;

/** Looks before opening: to open a pipe is to wait for its writer. @throws MrmTraceError usage or data_quality */
function requireFile(path: string): void {
  const seen = lookAt(path);
  const hint = "give the path of a file, such as: mrm-trace import perf.data";
  if (seen === null) throw new MrmTraceError("usage", `there is no file "${path}"`, hint);
  if (!seen.isFile()) throw new MrmTraceError("usage", `${path} is no regular file`, hint);
  if (seen.size === 0) throw new MrmTraceError("data_quality", `${path} is empty`, "record it again");
}

function startOf(path: string): Uint8Array {
  requireFile(path);
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch (cause) {
    throw new MrmTraceError("usage", `cannot open ${path}: ${reasonText(cause)}`, "give the path of a file", { cause });
  }
  try {
    const start = new Uint8Array(LOOK_BYTES);
    return start.subarray(0, readSync(fd, start, 0, LOOK_BYTES, 0));
  } catch (cause) {
    throw new MrmTraceError("usage", `cannot read ${path}: ${reasonText(cause)}`, "give the path of a file", { cause });
  } finally {
    closeSync(fd);
  }
}

function importerOf(path: string): Importer {
  const start = startOf(path);
  const found = IMPORTERS.find((importer) => importer.matches(start));
  if (found !== undefined) return found;
  throw new MrmTraceError(
    "data_quality",
    `${path} is of no known format: it begins with ${JSON.stringify(Buffer.from(start.subarray(0, 8)).toString("latin1"))}`,
    `give one of: ${IMPORTERS.map(({ format }) => format).join(", ")}`,
  );
}

interface Taken {
  readonly imported: Imported;
  readonly rows: Readonly<Record<StreamName, number>>;
  readonly ledger: readonly LedgerRow[];
}

/** Reads the file into the capture folder; waits for the encoder, so that no row is dropped for lack of room. */
async function capture(importer: Importer, { file, signal }: ImportRequest, directory: RunDirectory): Promise<Taken> {
  await using encoder = openEncoder({ maxQueueBytes: MAX_QUEUE_BYTES });
  const writers = new Map<StreamName, SegmentWriter>();
  const rows = Object.fromEntries(STREAMS.map((stream) => [stream, 0])) as Record<StreamName, number>;
  const madeOfObjects = collectAfter(OBJECT_ROWS);
  const onBatch = (batch: Batch): void => {
    const stream = batch.table as StreamName;
    let writer = writers.get(stream);
    if (writer === undefined) {
      const dir = join(directory.capture, stream);
      writer = openSegmentWriter({ encoder, dir, table: stream, maxRows: SEGMENT_ROWS });
      writers.set(stream, writer);
    }
    rows[stream] += batch.rows;
    writer.append(batch);
    if (writer.error !== null) throw writer.error;
    if (!OF_ARRAYS.has(stream)) madeOfObjects(batch.rows);
  };
  const ready = async (): Promise<void> => {
    await heard(signal);
    while (encoder.queuedBytes > FULL_BYTES) await Bun.sleep(WAIT_MS);
  };
  const times = plausibleTimes(onBatch);
  const imported = await importer.read(file, { onBatch: times.take, ready });
  times.flush();
  const closed: LedgerRow[] = [];
  for (const writer of writers.values()) closed.push(...(await writer.close()));
  for (const writer of writers.values()) if (writer.error !== null) throw writer.error;
  const [first_ns, last_ns] = [times.within(imported.first_ns), times.within(imported.last_ns)];
  const left = [...times.dropped.values()].reduce((sum, n) => sum + n, 0);
  const warning = `${formatCounted(left, "row")} left out: more than 104 days from the others, which no recording lasts`;
  const warnings = left > 0 ? [...imported.warnings, warning] : imported.warnings;
  const ledger = [...withoutImplausible(imported.ledger, times.dropped), ...closed];
  return { imported: { ...imported, first_ns, last_ns, warnings }, rows, ledger };
}

function factsOf(request: ImportRequest, directory: RunDirectory, { imported, rows, ledger }: Taken): RunFacts {
  const validity = judgeValidity({
    loss_pct: worstLossPct(ledger),
    observer_cpu_pct: null,
    contention_pct: null,
    observer_rss_bytes: null,
    target_rss_bytes: null,
    mem_available_bytes: null,
    baseline_cpu_pct: null,
    slowdown_pct: null,
    throttle_events: null,
    peak_temperature_c: null,
  });
  const { collector, sources, identifies, blindTo, command, first_ns, last_ns } = imported;
  const unknown = unknownFacts(directory.run_id, directory.model_id, "", "end_of_file");
  return {
    ...unknown,
    validity: validity.validity,
    reasons: [...validity.reasons],
    not_measured: [...validity.not_measured],
    warnings: [...imported.warnings],
    collectors: [{ name: collector, sources: [...sources], why_not_better: "imported from a file" }],
    sight: [{ collector, identifies: [...identifies], blind_to: blindTo }],
    target: {
      ...unknown.target,
      command: recordedCommand(command, request.record_command),
      wall_s: last_ns > first_ns ? Number(last_ns - first_ns) / 1e9 : null,
    },
    ledger: ledger.map((row) => ({ ...row })),
    started_ns: first_ns,
    end_ns: last_ns,
    details: { imported_from: basename(request.file), ...imported.details, rows },
  };
}

/**
 * Imports one file, and derives everything from it. Needs no root, and not the tool that wrote it.
 * @throws MrmTraceError usage, data_quality with the byte or line, or failure; nothing stays of an import that failed or was ended
 */
export async function importFile(request: ImportRequest): Promise<Derived> {
  const importer = importerOf(request.file);
  using run = createRun({
    output: request.output,
    model_id: modelSlug(basename(request.file)),
    run_id: request.run_id ?? newRunId(),
    force: request.force,
  });
  const { directory } = run;
  using _held = holdRun(run.heldPath);
  try {
    const taken = await capture(importer, request, directory);
    await heard(request.signal);
    const facts = factsOf(request, directory, taken);
    writeFacts(directory.heldPath, facts);
    // What reading held is given back before deriving begins, and the SQL engine comes into memory only then.
    Bun.gc(true);
    const { derive } = await import("./derive.ts");
    const limits = { ...derivingLimits(directory.path, IMPORT_MEMORY_BYTES), ...ENGINE_LIMITS, signal: request.signal };
    return await derive(directory, facts, limits);
  } catch (error) {
    discardRun(run);
    throw shownError(error);
  }
}
