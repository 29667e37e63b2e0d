/** Text of `perf script` for `import`: also in the fields that the Python package asks for. */
import { closeSync, openSync, readSync } from "node:fs";
import { MrmTraceError } from "../../../errors.ts";
import { codesOf } from "../../../schema/row.ts";
import type { AccessSource } from "../../../schema/words.ts";
import { accessBatch, accessColumns, ROWS } from "../../access-columns.ts";
import { decodeDataSource } from "../../data-src.ts";
import type { Imported, Importer, ImportSink } from "../../importer.ts";
import { type Account, count, ledgerOf, newAccount } from "../file/account.ts";
import { isSpe, uncountedByName } from "../file/counted-events.ts";
import { noTotals } from "../import-data.ts";
import { parseScriptLine, type ScriptSample } from "./line.ts";

const OP = codesOf("access", "op_type");
const EVIDENCE = codesOf("access", "op_evidence");
const SOURCE = codesOf("access", "source");

const CHUNK_BYTES = 1 << 18;
/** Longer lines are counted and left out: no symbol is that long. */
const LONGEST_LINE = 1 << 16;
const LINES_TO_LOOK_AT = 50;
/** More events than this, and longer names, are no text of perf: lines with them are counted and left out. */
const MOST_EVENTS = 1024;
const LONGEST_EVENT = 1024;
const KERNEL_FROM = 1n << 56n;

/** The lines of a file, each at most LONGEST_LINE long; null for one that is longer. */
function* linesOf(fd: number): Generator<string | null> {
  const chunk = new Uint8Array(CHUNK_BYTES);
  const decoder = new TextDecoder("latin1");
  let rest = "";
  let tooLong = false;
  for (let got = readSync(fd, chunk); got > 0; got = readSync(fd, chunk)) {
    const text = rest + decoder.decode(chunk.subarray(0, got));
    let begin = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", begin)) {
      yield tooLong || end - begin > LONGEST_LINE ? null : text.slice(begin, end);
      tooLong = false;
      begin = end + 1;
    }
    rest = text.slice(begin);
    if (rest.length > LONGEST_LINE) {
      rest = "";
      tooLong = true;
    }
  }
  if (rest !== "" || tooLong) yield tooLong ? null : rest;
}

/** Arm SPE prints one record as several lines; only the one that is the access itself counts. */
const SPE_REPEATS = /^(?:l1d|llc|tlb)-(?:miss|access)$|^remote-access$|^branch-miss$/;

interface Meaning {
  readonly op: number;
  readonly evidence: number;
}

function meaningOf(sample: ScriptSample): Meaning {
  const { op } = decodeDataSource(sample.data_src ?? 0n);
  if (op === "load" || op === "store" || op === "load_store") {
    return { op: OP[op], evidence: EVIDENCE.data_src };
  }
  const byName = /store/i.test(sample.event) ? "store" : /load/i.test(sample.event) ? "load" : "unknown";
  return { op: OP[byName], evidence: byName === "unknown" ? EVIDENCE.none : EVIDENCE.event };
}

/** Which source a line is of, by its event's name. */
function sourceOf(event: string): AccessSource {
  if (/ibs/i.test(event)) return "ibs";
  if (isSpe(event)) return "spe";
  return /mem|ldlat|load|store/i.test(event) ? "pebs" : "import";
}

/** Events that are no access to the address that they may tell: faults, clocks and counts of other things. */
const NO_ACCESS =
  /^(?:(?:page-|minor-|major-|alignment-|emulation-)?faults|exceptions:page_fault_(?:user|kernel)|(?:cpu|task)-clock|(?:cpu-|ref-|bus-)?cycles|instructions|branch(?:es|-misses|-instructions)|context-switches|cs|cpu-migrations|migrations|dummy|bpf-output)(?::|$)/;

/** Why a sample is left out; null where it is kept. */
function leftOut(sample: ScriptSample): string | null {
  if (sample.data_src === null && NO_ACCESS.test(sample.event)) return "no_access";
  if (SPE_REPEATS.test(sample.event)) return "repeats_a_sample";
  if (sample.address === null || sample.address === 0n) return "no_address";
  if (sample.address >= KERNEL_FROM) return "kernel_address";
  return sample.pid < 0 ? "no_process" : null;
}

interface Reading {
  readonly account: Account;
  readonly sources: Set<string>;
  /** Events that were met, and why their periods are no number of accesses; null where they are one. */
  readonly uncounted: Map<string, string | null>;
  first_ns: bigint;
  last_ns: bigint;
}

async function readLines(fd: number, sink: ImportSink): Promise<Reading> {
  const columns = accessColumns();
  const reading: Reading = {
    account: newAccount(),
    sources: new Set(),
    uncounted: new Map(),
    first_ns: 0n,
    last_ns: 0n,
  };
  const { account } = reading;
  const whyNoCount = (event: string): string | null => reading.uncounted.get(event) ?? null;
  /** Knows the event from now on; false where there is no room for it. */
  const isKnown = (event: string): boolean => {
    if (reading.uncounted.has(event)) return true;
    if (reading.uncounted.size === MOST_EVENTS || event.length > LONGEST_EVENT) return false;
    // A copy: what was cut out of a line keeps the memory of the text around it.
    reading.uncounted.set(Buffer.from(event, "latin1").toString("latin1"), uncountedByName(event));
    return true;
  };
  const take = (sample: ScriptSample): void => {
    const row = columns.rows;
    const { op, evidence } = meaningOf(sample);
    const source = sourceOf(sample.event);
    reading.sources.add(source);
    if (reading.first_ns === 0n || sample.time_ns < reading.first_ns) reading.first_ns = sample.time_ns;
    if (sample.time_ns > reading.last_ns) reading.last_ns = sample.time_ns;
    columns.data.timestamp_ns[row] = sample.time_ns;
    columns.data.address[row] = sample.address ?? 0n;
    columns.data.ip[row] = sample.ip ?? 0n;
    columns.data.period[row] = whyNoCount(sample.event) === null ? (sample.period ?? 0n) : 0n;
    columns.data.data_src[row] = sample.data_src ?? 0n;
    columns.valid.data_src[row] = sample.data_src === null ? 0 : 1;
    columns.data.pid[row] = sample.pid;
    columns.data.tid[row] = sample.tid;
    columns.data.cpu[row] = sample.cpu ?? 0;
    columns.data.op_type[row] = op;
    columns.data.op_evidence[row] = evidence;
    columns.data.source[row] = SOURCE[source];
    columns.data.in_kernel[row] = 0;
    columns.data.weight_cycles[row] = sample.weight ?? 0;
    columns.valid.weight_cycles[row] = sample.weight === null ? 0 : 1;
    account.keptAccesses += 1;
    account.keptBySource[SOURCE[source]] = (account.keptBySource[SOURCE[source]] ?? 0) + 1;
    columns.rows += 1;
  };
  for (const line of linesOf(fd)) {
    if (line !== null && (line.trim() === "" || line.trimStart().startsWith("#"))) continue;
    account.samples += 1;
    const sample = line === null ? null : parseScriptLine(line);
    if (sample === null) {
      count(account.dropped, "unreadable_line");
      continue;
    }
    const why = leftOut(sample);
    if (why !== null) count(account.filtered, why);
    else if (isKnown(sample.event)) take(sample);
    else count(account.dropped, "unknown_event");
    if (columns.rows === ROWS) {
      sink.onBatch(accessBatch(columns));
      columns.rows = 0;
      await sink.ready();
    }
  }
  if (columns.rows > 0) sink.onBatch(accessBatch(columns));
  return reading;
}

/** Why lines were left out, for the message of a file of which nothing was kept. */
function reasonsOf({ filtered, dropped }: Account): string {
  const reasons = [...filtered, ...dropped].map(([why, n]) => `${n} ${why.replaceAll("_", " ")}`);
  return reasons.length > 0 ? `: ${reasons.join(", ")}` : "";
}

export const perfScriptImporter: Importer = {
  format: "perf script text",
  matches(start) {
    if (start.includes(0)) return false;
    const lines = Buffer.from(start).toString("latin1").split("\n").slice(0, LINES_TO_LOOK_AT);
    return lines.some(
      (line) => !line.trimStart().startsWith("#") && parseScriptLine(line.slice(0, LONGEST_LINE)) !== null,
    );
  },
  async read(path, sink): Promise<Imported> {
    const fd = openSync(path, "r");
    let reading: Reading;
    try {
      reading = await readLines(fd, sink);
    } finally {
      closeSync(fd);
    }
    const { account, sources, uncounted, first_ns, last_ns } = reading;
    if (account.keptAccesses === 0) {
      throw new MrmTraceError(
        "data_quality",
        `${path} has ${account.samples} lines and no access to a user address${reasonsOf(account)}`,
        (account.filtered.get("no_access") ?? 0) > 0
          ? "import the perf.data file itself: it tells faults and timer samples from accesses"
          : "print it with: perf script --ns -F comm,pid,tid,cpu,time,period,event,addr,data_src,weight,ip",
      );
    }
    const lost = [...account.dropped.values()].reduce((sum, lines) => sum + lines, 0);
    return {
      collector: "perf-mem",
      sources: [...sources],
      identifies: [...sources],
      blindTo: "text of samples shows single accesses, no births, deaths or whole histories",
      ledger: ledgerOf(account, "perf script", [...sources]),
      warnings: [
        ...[...uncounted].flatMap(([name, why]) => (why === null ? [] : [noTotals(name, why)])),
        ...(lost > 0 ? [`${lost} lines could not be read as samples`] : []),
        "times are of perf's own clock, and text does not say what was lost",
      ],
      command: [],
      first_ns,
      last_ns,
      details: { format: "perf script text", lines: account.samples, left_out: Object.fromEntries(account.filtered) },
    };
  },
};
