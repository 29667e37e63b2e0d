/** The text of docs/metrics.md. */
import { FEWEST, MOST_CENSORED, MOST_LOST_PCT } from "../figures/figure-row.ts";
import type { MetricFamily } from "./metric.ts";
import { METRICS } from "./registry.ts";
import { MOST_SHARED } from "./shared-memory.ts";

const SPANS = {
  every: "prefill, decode and the whole phase",
  whole: "the whole phase",
  steps: "prefill and decode",
  phases: "the whole run, each of its phases, prefill and decode",
} as const;

/** What each family answers, by its first metric, in the words of who looks for it. */
const QUESTIONS: Readonly<Record<string, string>> = {
  rss_peak_bytes: "how much memory the processes had at once",
  cpu_ns: "how much CPU they used",
  faults: "what they faulted in",
  resident_bytes: "how much of a class was in memory",
  allocated_bytes: "how much of a class was mapped or allocated",
  allocated_total_bytes: "how much was allocated in all",
  lifetime_p50_ns: "how long its places are kept",
  reads_per_byte_per_token: "how often a byte is read for a token",
  writes_per_byte_per_token: "how often a byte is written for a token",
  read_bytes_per_s: "how fast it is read",
  write_bytes_per_s: "how fast it is written",
  hits_per_pass: "how many instructions a pass takes",
  iai_p50_ns: "how long from one pass to the next",
  reads_per_write: "how often it is read for a write",
  write_once_ratio: "how much is written once",
  age_at_read_p50_ns: "how old data is when it is read",
  retention_p50_ns: "how long written data is needed",
  next_use_p50_ns: "when a byte is used next",
  still_needed_p50_ns: "how much longer a byte is needed",
  reuse_time_p50_ns: "how long since the same address was accessed, of an exact trace",
  working_set_bytes: "how much is touched within a window",
  loads_per_s: "how many loads and stores, by samples",
  same_page_fraction: "how near to each other accesses are",
  suitability: "whether a memory that forgets could hold it",
};

const headingOf = ({ metrics }: MetricFamily): string => metrics.map(({ name }) => name).join(", ");

/** A line of the index: what a family answers, and where it stands. */
function indexRow(family: MetricFamily): string {
  const heading = headingOf(family);
  const [first] = family.metrics;
  const question = QUESTIONS[first?.name ?? ""];
  if (question === undefined) throw new Error(`nothing says what ${heading} answers`);
  return `| ${question} | [${heading}](#${heading.replaceAll(",", "").replaceAll(" ", "-")}) |`;
}

/** Reasons that stand in one text, each by itself: sentences, or of one sentence what semicolons part. */
function reasonsOf(text: string): readonly string[] {
  const sentences = text.split(/(?<=\.) (?=[A-Z]|n <|p99)/);
  const parts = sentences.length > 1 ? sentences : text.replace(/\.$/, "").split("; ");
  return parts.map(
    (part) => `${part.replace(/\.$/, "").replace(/^(?!n <|p99)[a-z]/, (letter) => letter.toUpperCase())}.`,
  );
}

/** docs/metrics.md: one section per family of the registry. */
export function metricsPage(): string {
  const out = [
    "# Metrics",
    "",
    "Generated from `src/analyse/metrics/registry.ts` by `bun run generate`; do not edit.",
    "",
    "What a figure is, by which source it is told, and when it is held back. To find one:",
    "",
    "| to know | see |",
    "|---|---|",
    ...METRICS.map(indexRow),
    "",
    "## How to read it",
    "",
    "**Scope.** A figure of the scope `class` is for one class of data: `region_type`, or the kind of mapping where the class is unknown. One of the scope `process` is for all traced processes together.",
    "",
    "**Phase.** With an engine the phase is `generation`: from its first step to the end of its last, so that loading and the zero-fill of the KV cache are outside. Without one it is the whole run. Phases of the scope `process` are those of [columns.md](columns.md), and `idle` is what no other phase has. Figures per second are over all of this time: a server that rests for half of it reads half as much per second as while it works.",
    "",
    "**Watches and passes.** A watch is one random address, seen for a while. Its accesses are merged to passes: a run of accesses, each closer than max(50 us, 3 trap costs) to the one before, is one pass of a kernel over the tensor. The unit of every interval is the address, since what one address shows is correlated; for the engine's steps it is the step, and for the lives of KV rows the sequence. An address weighs as many bytes as it stands for: a quantile over passes counts each byte that a pass goes over.",
    "",
    "**Words of 8 bytes.** For `watch` b is an aligned word of 8 bytes. A touch of one of its bytes is a pass over all 8, and one access that lies across two words is a pass over both: of single bytes that lie far apart the rates are up to 8 times too high. A write is what the hardware writes: a compare-and-exchange that fails counts as a write, as the processor stores the old value again.",
    "",
    "**What is seen** is what goes through the watched mapping, by the program or by a call that copies to or from its buffer, such as read(2) and write(2). What the kernel or a device does by another way is in no figure: O_DIRECT, registered buffers of io_uring, vmsplice, and process_vm_readv or process_vm_writev of another process.",
    "",
    "**Shared memory.** Rates are of accesses through the mappings of the traced processes. Bytes of shared memory (`MAP_SHARED`, which may be written) are in other mappings too, of this process, of another, or of one that is not traced, and a watch does not see what goes through those. So what it tells of the reads and writes of a byte together is not identifiable there. Memory that any traced process shares so is shared in all mappings of it, and so is memory without a file on a disk (memfd, `/dev/shm`, System V) that traced processes may only read: others fill it, unless it is a model. Anonymous shared memory of a process that never forked is its own.",
    "",
    "**Memory that moves or rests.** Memory that a call moves to another address (`mremap`, by which `realloc` lets a large block grow) lives on there with what it holds. A watch at the old one sees no more of it from then on: that is an end of the look, not a free. Memory that nobody may use for a while (`mprotect` with `PROT_NONE`) keeps what it holds and belongs to its class all that time. Memory that nobody might use yet since it was mapped is address space kept for later: no watch is drawn there.",
    "",
    "**Words that are named** (`--ebpf mem:0xADDRESS/8:rw`, or a breakpoint of perf) are no such addresses. Nobody drew them from their class, and each is watched again when its accesses end a watch, or from the first of them to the last. What was seen of them is in `trace/`. No figure is told of them, and beside words that were drawn they count for nothing.",
    "",
    "**Formulas.** Each is over the exact trace, which holds every access, mapping, tensor and step of the span; an estimator has to come as near to it as its source allows. `tests/validity/laboratory/reference.ts` has those of the watched figures as code, of a whole phase and of its steps, and tests hold the truth of every simulated world against it. What counts alike stands beside the formula: 1000 passes over one byte count a thousandfold in what is averaged over passes, and once in what is averaged over bytes.",
    "",
    "**Traffic or placement.** Times between passes, ages and retention are averaged over passes, reads and writes: that is what sizes traffic and refresh. Who places bytes asks what a byte is like, however often it is used: `next_use` and `still_needed` count each byte alike, and each moment of its life. Both look ahead from the moment, as a watch does. Nobody who begins to look at a moment sees the whole interval in which it lies, or the whole time since the write of what a byte holds, so that these are not given. Passes that were picked at random, each counted by its interval's length, told the former in none of 120 simulated runs in which words are hot and cold or their rates lognormal: a window that cuts no busy word holds next to no pass over the idle ones, which have most of the time.",
    "",
    "| letter | is |",
    "|---|---|",
    "| S | the span: the pieces of time that the figure is given for; as a number, their length in seconds |",
    "| N | tokens that the steps in S decode, or of the prompt in a prefill, all sequences together |",
    "| b, B | a byte of the class, and how many there are, in the mean of the moments of S |",
    "| p, t(p) | a pass over b that begins in S, and when it begins |",
    "| P(b), R(b), W(b) | passes over b in S; of them those that read, and those that write; one that does both is in both |",
    "| A(b) | accesses to b in S, as instructions |",
    "| e, t(e) | a write epoch of b: from a write pass over b, t(e) being its last write, to the next one, the free of b or the end of its life |",
    "| Q_50 of x, over i | the least x up to which half of the i have theirs; one that the end of the trace cuts counts as longer than any |",
    "",
    "| status | meaning |",
    "|---|---|",
    `| ok | \`value\` with its 95 % interval \`lo\` to \`hi\` |`,
    `| bound | no value; \`lo\` or \`hi\` is what can be said |`,
    `| insufficient | fewer than ${FEWEST} samples, or more than ${MOST_LOST_PCT} % of the source's events lost, of the steps that cut its span, or of what the map tells that says which bytes are of a class |`,
    "| not_identifiable | this source cannot tell; `why` says why |",
    "",
    `Where more than ${100 * MOST_CENSORED} % of the weight is censored, a quantile is a bound. \`n\` counts addresses unless the method says otherwise. Where several sources tell one figure each has its row, and of the order below the first with a value or a bound is printed.`,
  ];
  for (const family of METRICS) {
    out.push("", `## ${headingOf(family)}`, "");
    out.push("| metric | unit | definition | formula | averaged over |", "|---|---|---|---|---|");
    for (const { name, unit, definition, formula, averaged_over } of family.metrics) {
      out.push(`| ${name} | ${unit} | ${definition} | ${formula} | ${averaged_over} |`);
    }
    out.push("", "- Estimator:", ...family.estimator.map((point) => `  - ${point}`));
    for (const [source, how] of family.sources) out.push(`- Identified by \`${source}\`: ${how}.`);
    if (family.not_by_sampling !== null) {
      out.push(`- Not by sampled sources (\`pebs\`, \`ibs\`, \`clock\`): ${family.not_by_sampling}.`);
    }
    if (family.needs_every_access === true) {
      out.push(
        `- Not of shared memory, by watches: where more than ${100 * MOST_SHARED} % of the bytes may be used by others too.`,
      );
    }
    const reasons = reasonsOf(family.suppressed);
    const alike = METRICS.find(({ suppressed }) => suppressed === family.suppressed) ?? family;
    if (reasons.length === 1) out.push(`- Held back: ${reasons[0]}`);
    else if (alike !== family) out.push(`- Held back: as \`${headingOf(alike)}\`.`);
    else out.push("- Held back:", ...reasons.map((reason) => `  - ${reason}`));
    out.push(`- Scope: ${(family.scopes ?? ["class"]).join(" and ")}.`);
    out.push(`- Given for: ${SPANS[family.spans]}.`);
  }
  out.push("");
  return out.join("\n");
}
