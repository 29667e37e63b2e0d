/** The eBPF collector: a loop over the parts that were asked for, all of one process tree and on one clock. */
import { release } from "node:os";
import { MrmTraceError } from "../../errors.ts";
import { type BpfCost, type CostSampler, type SkippedRuns, sampleBpfCosts } from "../../kernel/bpf-costs.ts";
import { monotonicNs } from "../../kernel/libc.ts";
import { countLooks, type Looks } from "../../kernel/looks.ts";
import type { LedgerRow } from "../../schema/ledger.ts";
import type { ProcessTree } from "../../target/process-tree.ts";
import type { Capability, Collector, CollectorFindings, Target } from "../collector.ts";
import { lookCost } from "../look-cost.ts";
import { splitBudget } from "./budget-shares.ts";
import { startLifecycle } from "./lifecycle/lifecycle-part.ts";
import type { Part, Scene } from "./part.ts";
import { capabilityOf, type PartOptions, type Plan, PROGRAMS, planParts } from "./parts.ts";
import { closedTarget, failedRequirements, refusalOf } from "./requirements.ts";
import type { SourceFacts } from "./samples/choose-sources.ts";
import { readPmus } from "./samples/pmu.ts";
import { withSkippedRuns } from "./skipped-runs.ts";

export interface EbpfOptions extends PartOptions {
  /** Share of each CPU that the collector may cost the target, in percent. */
  readonly budgetPct: number;
  /** Is told of every process of the target that begins and ends. */
  readonly tree: ProcessTree;
}

/** This machine, as the choice of sources sees it. */
export function sourceFacts(): SourceFacts {
  return { pmus: readPmus(), kernelRelease: release(), arch: process.arch };
}

/** What there is to tell at a time, and once all has stopped: the programs and their maps are gone then. */
type Account = Required<Pick<Collector, "account" | "warnings" | "costs" | "findings" | "details">>;
const NOTHING: Account = {
  account: () => [],
  warnings: () => [],
  costs: () => [],
  findings: () => ({}),
  details: () => ({}),
};

/** @param facts what decides on sources of accesses; this machine unless told */
export function createEbpfCollector(options: EbpfOptions, facts: SourceFacts = sourceFacts()): Collector {
  const owned = new DisposableStack();
  let plan = planParts(options, facts);
  let running: Running | null = null;
  let ended = NOTHING;
  const account = (): Account => (running === null ? ended : accountNow(running, monotonicNs()));
  return {
    name: "ebpf",
    canRun: async (target) => canRunHere(target) ?? (plan.ok ? capabilityOf(plan) : plan),
    async start(target) {
      if (!plan.ok) throw new MrmTraceError("environment", plan.reason, plan.hint);
      try {
        const started = await startParts(owned, options, target, plan);
        ({ plan, running } = started);
      } catch (error) {
        owned.dispose();
        throw error;
      }
    },
    batches() {
      if (running === null) return [];
      running.sampler.poll(monotonicNs());
      return running.parts.flatMap((part) => part.poll(monotonicNs()));
    },
    beforeRest() {
      return (running?.parts ?? []).map((part) => part.beforeRest?.(monotonicNs())).includes(true);
    },
    patienceMs: () => Math.min(...(running?.parts ?? []).map(({ patienceMs }) => patienceMs ?? Infinity)),
    holds: () => Object.assign({}, ...(running?.parts ?? []).map(({ holds }) => holds)),
    leave() {
      if (running !== null) leaveParts(running);
    },
    async stop() {
      if (running === null) return { batches: [], ledger: [] };
      const stopped = stopParts(running);
      ended = stopped.account;
      running = null;
      owned.dispose();
      return stopped;
    },
    account: () => account().account(),
    warnings: () => account().warnings(),
    costs: () => account().costs(),
    findings: () => account().findings(),
    details: () => account().details(),
  };
}

/** Why nothing can be loaded here, or nothing told of the target; null where all can. */
function canRunHere({ pid, held }: Target): Capability | null {
  const failed = failedRequirements();
  const verb = held ? "run" : "attach";
  return failed.length > 0 ? refusalOf(failed, verb) : closedTarget(pid, verb);
}

interface Running {
  hasLeft: boolean;
  /** In the order in which they started: the mappings first. */
  readonly parts: readonly Part[];
  readonly looks: Looks;
  readonly sampler: CostSampler;
}

/** Starts every part of a plan; what is left of the plan are the parts that the kernel did not refuse. */
async function startParts(
  owned: DisposableStack,
  { tree, budgetPct }: EbpfOptions,
  target: Target,
  plan: Plan,
): Promise<{ readonly plan: Plan; readonly running: Running }> {
  const looks = countLooks();
  const lifecycle = owned.use(await startLifecycle(target, tree, looks));
  const budget = splitBudget(budgetPct, plan.parts.filter(({ spends }) => spends).length);
  let scene: Scene = { target, mappings: lifecycle.feed, budget, looks, engine: null, heat: null, strings: null };
  const parts: Part[] = [lifecycle];
  let left = plan;
  for (const planned of plan.parts) {
    const started = await planned.start(scene);
    if ("refused" in started) {
      left = { ...left, parts: left.parts.filter((part) => part !== planned), whyNotBetter: started.refused };
      continue;
    }
    parts.push(owned.use(started));
    scene = { ...scene, ...started.offers };
  }
  lifecycle.begin();
  return { plan: left, running: { hasLeft: false, parts, looks, sampler: owned.use(sampleBpfCosts(monotonicNs())) } };
}

/** The last to start looks away first: the registers are free before the programs go, and mappings are seen to the end. */
function leaveParts(running: Running): void {
  if (running.hasLeft) return;
  running.hasLeft = true;
  for (const part of running.parts.toReversed()) part.leave?.();
}

function stopParts(running: Running) {
  const { parts, looks } = running;
  const nowNs = monotonicNs();
  const programs = { costs: running.sampler.costs(nowNs), skipped: running.sampler.skipped(nowNs) };
  leaveParts(running);
  for (const part of parts.toReversed()) part.detach();
  const rest = parts.map((part) => ({ part, ...part.stop() }));
  const account = accountOf(rest, looks, programs);
  return { batches: rest.flatMap(({ batches }) => batches), ledger: account.account(), account };
}

/** What the parts can tell while they run. */
function accountNow({ parts, looks, sampler }: Running, nowNs: bigint): Account {
  const accounts = parts.map((part) => ({ part, ledger: part.account() }));
  return accountOf(accounts, looks, { costs: sampler.costs(nowNs), skipped: sampler.skipped(nowNs) });
}

function accountOf(
  accounts: readonly { readonly part: Part; readonly ledger: readonly LedgerRow[] }[],
  looks: Looks,
  programs: { readonly costs: readonly BpfCost[]; readonly skipped: readonly SkippedRuns[] },
): Account {
  const parts = accounts.map(({ part }) => part);
  const ledger = accounts.flatMap(({ part, ledger: rows }) =>
    withSkippedRuns(
      programs.skipped.filter(({ object }) => object === part.name),
      part.sees,
      rows,
    ),
  );
  const costsOf = ({ name }: Part) => programs.costs.filter(({ object }) => object === name);
  const warnings = parts.flatMap((part) => part.warnings?.() ?? []);
  const calls = parts.find((part) => part.mappingCalls !== undefined)?.mappingCalls?.();
  const lookCosts = looks.sums().map((sum) => lookCost(sum, calls));
  const costs = [...parts.flatMap((part) => part.costs?.(costsOf(part)) ?? []), ...lookCosts];
  const run_ns = programs.costs.reduce((sum, cost) => sum + cost.run_ns, 0);
  const bpf_run_ns = programs.costs.length > 0 ? Math.round(run_ns) : null;
  const findings: CollectorFindings = Object.assign({ bpf_run_ns }, ...parts.map((part) => part.findings?.()));
  const absent = Object.fromEntries(PROGRAMS.flatMap(({ tells }) => tells).map((key) => [key, null]));
  const details = Object.assign(absent, { bpf_programs: programs.costs }, ...parts.map((part) => part.details?.()));
  return {
    account: () => ledger,
    warnings: () => warnings,
    costs: () => costs,
    findings: () => findings,
    details: () => details,
  };
}
