/** The lines around the class table: what ran, how far it may be trusted, what watching it cost and lost, where it is. */
import { modelId, modelSlug } from "../run-directory/run-directory.ts";
import { inNumbers, type LedgerRow, placeWords } from "../schema/ledger.ts";
import { eventsOf, unseenPct } from "../schema/loss.ts";
import type { RunReport } from "../schema/run-json.ts";
import { formatBytes, formatCount, formatCounted, formatNs, isShown } from "../units.ts";
import { activationsText, expertsText } from "./engine-lines.ts";
import { countsText, requestsText } from "./server-lines.ts";
import { type Ink, type Line, type Terminal, wrap } from "./terminal.ts";

const KEY_WIDTH = 11;
export const VALIDITY_INK = { clean: "good", marginal: "warn", contaminated: "bad" } as const satisfies Record<
  RunReport["validity"],
  Ink
>;

const isNumber = (value: number | null): value is number => isShown(value) && value >= 0;
/** No two things that are compared here differ by more, in %; below the least a share is nothing. */
const [LEAST_PCT, MOST_PCT] = [1e-6, 1e9];
const pct = (value: number | null): string =>
  isNumber(value) && value < MOST_PCT ? `${value < LEAST_PCT ? 0 : Number(value.toPrecision(3))} %` : "unknown";
/** Of a part of a whole, which cannot be more than that. */
const sharePct = (value: number | null): string => (isNumber(value) && value <= 100 ? pct(value) : "unknown");

/** `key   text`, the text broken below itself. */
export function entry(key: string, text: string, width: number, ink: Ink = "plain"): Line[] {
  return wrap(text, Math.max(10, width - KEY_WIDTH)).map((part, i) => [
    { text: (i === 0 ? key : "").padEnd(KEY_WIDTH), ink: "dim" },
    { text: part, ink },
  ]);
}

/** So far from a whole number the mean of busy threads is still that number: they wait for each other, or for a request. */
const OTHER_THREADS = 0.75;

/** What is told of a target of which nobody saw how it ended. */
const UNSEEN_ENDS: ReadonlyMap<string, string> = new Map([
  ["end_of_file", "end not recorded"],
  ["import", "end not recorded"],
  ["killed", "end not known"],
  ["target_ended", "ended"],
]);

export function targetText(report: RunReport): string {
  const { target } = report;
  // What another tool recorded does not tell the process that was meant.
  const imported = target.pid === 0;
  const end =
    target.signal !== null
      ? `ended by ${target.signal}`
      : target.exit_code !== null
        ? `exit ${target.exit_code}`
        : (UNSEEN_ENDS.get(report.stopped_by) ?? "still running");
  const threads = threadsInAllText(report);
  const parts = [
    ...(imported ? [] : [`pid ${target.pid}`]),
    ...(target.pids.length > 1 ? [formatCounted(target.pids.length, "process")] : []),
    ...(threads === null ? [] : [threads]),
    ...(isNumber(target.wall_s) ? [formatNs(target.wall_s * 1e9)] : []),
    end,
  ];
  return parts.join(", ");
}

/** How many threads were busy, in the mean, where these are others than so many. */
function busyText({ target: { busy_threads: busy } }: RunReport, others: number | null): string | null {
  if (busy === null || (others !== null && Math.abs(busy - others) < OTHER_THREADS)) return null;
  return `${Number(busy.toFixed(1))} busy`;
}

/** "16 threads (3 busy)"; null where the threads are not known. */
function threadsInAllText(report: RunReport): string | null {
  const { engine, target } = report;
  if (target.threads === null) return null;
  const busy = engine == null ? busyText(report, target.threads) : null;
  return formatCounted(target.threads, "thread") + (busy === null ? "" : ` (${busy})`);
}

/** A count, or what it is at least; nothing where neither is known. */
function countText(exact: number | null, least: number | null, what: string): string[] {
  if (exact !== null) return [`${formatCount(exact)} ${what}`];
  return least === null ? [] : [`>= ${formatCount(least)} ${what}`];
}

/** Tokens per second of wall time, as engines count, and inside their decode calls, which is told of those without prompts alone. */
function rateText({ target, engine }: RunReport): string[] {
  const { decode_tokens_per_s: wall, decode_call_tokens_per_s: calls } = target;
  const counted = engine?.engine_time;
  const asItCounts = counted === undefined ? "" : `, ${formatCount(counted.tokens_per_s)}/s as it counts`;
  const where = target.decode_tokens_beside_prompts ? "in calls without a prompt" : "decoding";
  const inCalls = isNumber(calls) ? `${formatCount(calls)}/s ${where}${asItCounts}` : null;
  if (isNumber(wall)) return [`${formatCount(wall)}/s${inCalls === null ? "" : ` (${inCalls})`}`];
  return inCalls === null ? [] : [inCalls];
}

/** A server with a paged cache computes a prompt that it put off again: no count of the tokens that prompts have. */
const promptWords = ({ engine }: RunReport): string =>
  typeof engine?.block_tokens === "number" ? "computed for prompts" : "prompt";

export function tokensText(report: RunReport): string | null {
  const { target } = report;
  const parts = [
    ...countText(target.prompt_tokens, target.prompt_tokens_at_least, promptWords(report)),
    ...countText(target.decode_tokens, target.decode_tokens_at_least, "decoded"),
    ...rateText(report),
    ...(isNumber(target.ttft_ms) ? [`first TTFT ${formatNs(target.ttft_ms * 1e6)}`] : []),
  ];
  return parts.length === 0 ? null : parts.join(", ");
}

/** The threads that the context which decoded was asked to compute with, and how many did where these are others. */
function engineThreadsText(report: RunReport): string {
  const { n_threads } = report.engine?.context ?? {};
  const asked = typeof n_threads === "number" && Number.isInteger(n_threads) && n_threads > 0 ? n_threads : null;
  const busy = busyText(report, asked);
  if (asked === null) return busy === null ? "threads not known" : `n_threads not known, ${busy}`;
  return `n_threads ${asked}${busy === null ? "" : `, ${busy}`}`;
}

/** " (llama.cpp b11549)", or " (2 builds: b11063, b11549)"; nothing where none is known. */
function buildText({ name, build, builds }: NonNullable<RunReport["engine"]>): string {
  if (builds === undefined) return build == null ? "" : ` (${build})`;
  const names = builds.map((one) => (one.build === null ? "one not known" : one.build.replace(`${name} `, "")));
  return ` (${builds.length} builds: ${names.join(", ")})`;
}

/** Which engine ran which model, by what both say of themselves; null where neither is known. */
export function engineText(report: RunReport): string | null {
  const { engine, model } = report;
  const { n_ctx } = engine?.context ?? {};
  const parts = [
    ...(engine == null ? [] : [engine.name + buildText(engine)]),
    ...(model == null ? [] : [modelText(model)]),
    ...(typeof n_ctx === "number" ? [`n_ctx ${n_ctx}`] : []),
    ...(engine == null ? [] : [engineThreadsText(report)]),
  ];
  return parts.length === 0 ? null : parts.join(", ");
}

/** "llama q8_0". */
function modelText({ architecture, quantisation }: NonNullable<RunReport["model"]>): string {
  return [architecture ?? "model", quantisation].filter((word) => word !== null).join(" ");
}

/**
 * What a run is called: as its folder, but by its model where the folder has the name of the command alone, since no model was
 * known before that ran.
 */
export function titleText({ model, model_id, target: { command } }: RunReport): string {
  const isOfCommand = command.length > 0 && model_id === modelId(null, command);
  return isOfCommand && model?.name ? modelSlug(model.name) : model_id;
}

/** The parameters of the model as its tensors have them, whatever its name says; null where its file was not read. */
export function parametersText({ model }: RunReport): string | null {
  return model?.parameters == null ? null : `${formatCount(model.parameters)} parameters`;
}

/** What ran and what watched it. */
export function runHeader(report: RunReport, { width }: Terminal): Line[] {
  const tokens = tokensText(report);
  const engine = engineText(report);
  const counts = countsText(report);
  const experts = expertsText(report);
  const activations = activationsText(report);
  const requests = requestsText(report);
  const out: Line[] = [
    [
      { text: "mrm-trace  ", ink: "dim" },
      { text: titleText(report), ink: "bold" },
      { text: `  ${[parametersText(report), report.run_id].filter((text) => text !== null).join("  ")}`, ink: "dim" },
    ],
    // One line: a command may be as long as a page.
    [{ text: "command".padEnd(KEY_WIDTH), ink: "dim" }, { text: report.target.command.join(" ") }],
    ...(engine === null ? [] : entry("engine", engine, width)),
    ...entry("process", targetText(report), width),
    ...(tokens === null ? [] : entry("tokens", tokens, width)),
    ...(experts === null ? [] : entry("experts", experts, width)),
    ...(activations === null ? [] : entry("computed", activations, width)),
    ...(counts === null ? [] : entry("server", counts, width)),
    ...(requests === null ? [] : entry("requests", requests, width)),
  ];
  for (const { name, sources, why_not_better } of report.collectors) {
    const why = why_not_better === null || why_not_better === "" ? "" : `; ${why_not_better}`;
    const from = sources.length === 0 ? "" : `: ${sources.join(", ")}`;
    out.push(...entry("collector", `${name}${from}${why}`, width));
  }
  return out;
}

/** Parts of the cost that are worth a word: a hundredth of a percent of the target's time. */
const LEAST_PART_PCT = 0.01;

/** What --budget bounds, and what it does not. */
function partsText({ parts }: RunReport["observer"]): string[] {
  const text = (budgeted: boolean): string | null => {
    const worth = parts.filter((part) => part.budgeted === budgeted && (part.cost_pct ?? 0) >= LEAST_PART_PCT);
    return worth.length === 0 ? null : worth.map(({ what, cost_pct }) => `${what} ${pct(cost_pct)}`).join(", ");
  };
  const [inside, outside] = [text(true), text(false)];
  return [
    ...(inside === null ? [] : [`within --budget: ${inside}`]),
    ...(outside === null ? [] : [`not bound by --budget: ${outside}`]),
  ];
}

function slowdownText({ observer }: RunReport): string {
  const { value, lo, hi } = observer.slowdown_pct;
  const end = (figure: number | null): string => (isNumber(figure) ? formatCount(figure) : "?");
  return isNumber(value)
    ? `process slowed by ${pct(value)} (${end(lo)} to ${end(hi)} %)`
    : "slowdown of the process unknown";
}

/** Ends of what another tool recorded: what that cost, and how warm the machine was, is in no file. */
const IMPORTED_ENDS: ReadonlySet<string> = new Set(["end_of_file", "import"]);
const isImported = ({ stopped_by }: RunReport): boolean => IMPORTED_ENDS.has(stopped_by);
const FOREIGN_COST = "not known: another tool recorded it";

/** What watching cost, in one line. */
export const costInShort = (report: RunReport): string =>
  isImported(report) ? FOREIGN_COST : `${slowdownText(report)}, tracer ${pct(report.observer.cpu_pct)} of one CPU`;

export function costText(report: RunReport): string[] {
  if (isImported(report)) return [FOREIGN_COST];
  const { observer } = report;
  const traps = `${formatCounted(Number(observer.traps), "trap")} in ${formatNs(Number(observer.trap_ns))}`;
  const bpf = observer.bpf_run_ns === null ? "BPF run time unknown" : `BPF ${formatNs(Number(observer.bpf_run_ns))}`;
  const rss =
    observer.rss_bytes === null
      ? "tracer's memory unknown"
      : `${formatBytes(Number(observer.rss_bytes))} of memory, ${pct(observer.rss_pct_of_target)} of the process's RSS and ${pct(observer.rss_pct_of_available)} of MemAvailable`;
  return [
    `${slowdownText(report)}${isNumber(observer.slowdown_pct.value) ? ` (${observer.slowdown_pct.method})` : ""}; ${traps}, ${bpf}`,
    ...partsText(observer),
    `tracer ${pct(observer.cpu_pct)} of one CPU, ${rss}`,
    ...(isNumber(observer.contention_pct)
      ? [`the process waited ${pct(observer.contention_pct)} of its CPU time for a CPU that the tracer had`]
      : []),
    `machine before the run ${pct(observer.baseline_cpu_pct)} busy`,
  ];
}

function agreementText({ observer }: RunReport): string[] {
  if (observer.decoder_agreement === null) return [];
  const { agreed, compared } = observer.decoder_agreement;
  const pairs = formatCounted(compared, "access");
  return [`decoding told reads from writes as a pair of registers did in ${formatCount(agreed)} of ${pairs}`];
}

/** True where nothing was lost, as far as anybody knows. */
export function isWhole({ ledger, loss }: RunReport): boolean {
  const rows = inNumbers(ledger);
  return (
    eventsOf(rows).dropped === 0 &&
    unreadRows(rows).length === 0 &&
    loss.every(({ lost_pct }) => !(Number(lost_pct) > 0))
  );
}

/** How many events were lost, in one line. */
export function lossInShort({ ledger: recorded, loss }: RunReport): string {
  const ledger = inNumbers(recorded);
  const { kept, dropped } = eventsOf(ledger);
  // What nobody saw is none of the events: it must not look like a share of them.
  const shares = loss.flatMap(({ source, lost_pct }) => {
    const unseen = unseenPct(ledger, source);
    return isNumber(lost_pct) ? [{ source, seen: lost_pct - unseen, unseen }] : [];
  });
  const seen = shares.filter((one) => one.seen > LEAST_PCT).map((one) => `${one.source} ${sharePct(one.seen)}`);
  const unseen = shares
    .filter((one) => one.unseen > LEAST_PCT)
    .map((one) => `${sharePct(one.unseen)} of ${one.source}`);
  const least = dropped === 0 ? "nobody knows how much" : `at least ${formatCount(dropped)}`;
  const lost = unreadRows(ledger).length > 0 ? least : dropped === 0 ? "nothing" : formatCount(dropped);
  const events = `${lost} of ${formatCounted(kept + dropped, "event")}${seen.length === 0 ? "" : ` (${seen.join(", ")})`}`;
  return `${events}${unseen.length === 0 ? "" : `; about ${unseen.join(", ")} unseen`}`;
}

/** Stages that could not be read, of which nobody knows what they held. */
const unreadRows = (ledger: readonly LedgerRow[]): LedgerRow[] =>
  ledger.filter((row) => row.stage === "read" && row.dropped === 0);

function lossText(report: RunReport): string[] {
  const ledger = inNumbers(report.ledger);
  const head = `${lossInShort(report)}; ${formatCount(eventsOf(ledger).filtered)} filtered on purpose`;
  const losses = ledger
    .filter((row) => row.dropped > 0)
    .sort((a, b) => b.dropped - a.dropped)
    .map((row) => {
      const causes = Object.entries(row.dropped_by).map(
        ([cause, n]) => `${formatCount(n)} ${cause.replaceAll("_", " ")}`,
      );
      return `${placeWords(row)}: ${causes.join(", ")}`;
    });
  const unseen = ledger
    .filter((row) => isNumber(row.unseen_estimate) && row.unseen_estimate > 0)
    .map((row) => `${placeWords(row)}: about ${formatCount(Math.round(row.unseen_estimate ?? 0))} never seen`);
  return [head, ...losses, ...unreadRows(ledger).map(placeWords), ...unseen];
}

function labelText({ labels }: RunReport): string | null {
  const total = labels.reduce((sum, row) => sum + Number(row.access_rows), 0);
  const unknown = labels
    .filter((row) => row.region_type === "unknown")
    .reduce((sum, row) => sum + Number(row.access_rows), 0);
  return total === 0 ? null : `${sharePct((100 * unknown) / total)} of ${formatCounted(total, "access")}`;
}

/** How far the run may be trusted, what watching cost and lost, and where the files are. */
export function runVerdict(report: RunReport, { width }: Terminal): Line[] {
  const ink = VALIDITY_INK[report.validity];
  const unlabelled = labelText(report);
  const list = (key: string, texts: readonly string[], inked: Ink = "plain"): Line[] =>
    texts.flatMap((text, i) => entry(i === 0 ? key : "", text, width, inked));
  return [
    ...entry("validity", report.validity, width, ink),
    ...list("", report.reasons),
    ...(report.not_measured.length === 0 || isImported(report)
      ? []
      : entry("unmeasured", `${report.not_measured.join(", ")}; this machine does not tell`, width)),
    ...list("cost", costText(report)),
    ...list("check", agreementText(report)),
    ...list("lost", lossText(report)),
    ...(unlabelled === null ? [] : entry("unlabelled", unlabelled, width)),
    ...list("warning", report.warnings, "warn"),
    ...entry("files", report.run_dir, width),
    ...entry(
      "",
      "metrics.csv for people, metrics.parquet every figure, region_map.parquet what lay where, capture/ what was observed",
      width,
    ),
  ];
}
