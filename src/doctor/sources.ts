/** Which access sources a run takes here by itself, and why not the better ones. */
import { chooseSources, sampleChoices, UNTESTED } from "../collect/ebpf/samples/choose-sources.ts";
import type { Check, Examination, SourceCandidate } from "../schema/examination.ts";
import type { PmuFacts } from "./pmu.ts";

export interface SourceInput {
  readonly pmu: PmuFacts;
  /** The checks so far: what failed there keeps a source from working. */
  readonly checks: readonly Check[];
}

/** Checks without which nothing is sampled or watched; the first that failed is the reason. */
const ALWAYS_NEEDED = [
  "user",
  "kernel",
  "btf",
  "lockdown",
  "namespaces",
  "perf_event_paranoid",
  "libbpf",
  "attach: lifecycle",
];
const WATCH_NEEDS = [...ALWAYS_NEEDED, "attach: watch", "watch_registers"];

const BY_NAME_ONLY = "it tells where time goes, not how much is accessed; ask for it: --source clock";

const SAMPLES_NEED = ["attach: samples", "sampling"];

/** What failed, in words; null where all is well. */
function hindrance(checks: readonly Check[], needed: readonly string[]): string | null {
  const failed = checks.find(({ name, status }) => status === "fail" && needed.includes(name));
  return failed === undefined ? null : `${failed.name}: ${failed.summary}`;
}

/** Samples may be refused without failing an examination, because a run can do without them. */
function notOk(checks: readonly Check[], needed: readonly string[]): string | null {
  const found = checks.find(({ name, status }) => needed.includes(name) && status !== "ok");
  return found === undefined ? null : `${found.name}: ${found.summary}`;
}

/** Best first, as a run ranks them. */
export function judgeSources({ pmu, checks }: SourceInput): Examination["sources"] {
  const auto = chooseSources(["auto"], pmu);
  const taken = auto.ok ? auto.samples?.source : undefined;
  const candidates: SourceCandidate[] = sampleChoices(pmu).map((choice) => {
    const { source } = choice;
    const why_not = choice.ok ? (hindrance(checks, ALWAYS_NEEDED) ?? notOk(checks, SAMPLES_NEED)) : choice.reason;
    const note = choice.ok ? UNTESTED : null;
    return { source, taken: why_not === null && taken === source, why_not, note };
  });
  const why_not = hindrance(checks, WATCH_NEEDS);
  candidates.push({ source: "watch", taken: why_not === null, why_not, note: null });
  const failed = hindrance(checks, ALWAYS_NEEDED) ?? notOk(checks, ["attach: clock"]);
  candidates.push({ source: "clock", taken: false, why_not: failed ?? BY_NAME_ONLY, note: null });
  const sources = candidates.filter((candidate) => candidate.taken).map(({ source }) => source);
  return { auto: sources.length === 0 ? null : sources.join(","), candidates };
}
