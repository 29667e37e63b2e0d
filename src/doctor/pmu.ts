/** The processor's performance monitoring units: which of them sample loads and stores, and whether a hypervisor passes them on. */
import { type SourceFacts, sampleChoices } from "../collect/ebpf/samples/choose-sources.ts";
import type { Pmu } from "../collect/ebpf/samples/pmu.ts";
import type { EventChoice, SampleEvent } from "../collect/ebpf/samples/sample-event.ts";
import { check } from "../schema/check.ts";
import type { Check } from "../schema/examination.ts";

export interface PmuFacts extends SourceFacts {
  /** none on bare metal; null where the machine does not say. */
  readonly virtualisation: string | null;
}

/** Units that count or sample in a processor; uncore units, tracepoints and the like are none. */
const CORE = /^(?:cpu|cpu_core|cpu_atom|cpu_lowpower|ibs_op|ibs_fetch|arm_spe_\d+|armv\d+_\w+)$/;

function listOf(cpus: readonly number[]): string {
  const last = cpus.at(-1);
  const dense = last !== undefined && last - (cpus[0] ?? 0) + 1 === cpus.length && cpus.length > 1;
  return dense ? `${cpus[0]}-${last}` : cpus.join(",");
}

/** One unit with the events that a run would open on it. */
function describe(pmu: Pmu, events: readonly SampleEvent[]): string {
  const kind = pmu.caps.get("pmu_name");
  const where = pmu.cpus === null ? "" : ` on CPUs ${listOf(pmu.cpus)}`;
  const precise = Math.max(...events.map(({ mostPrecise }) => mostPrecise));
  const leader = events.some((event) => event.leader !== null) ? " led by mem-loads-aux" : "";
  const level = precise > 0 ? `, precise level ${precise}` : "";
  return `${pmu.name}${kind === undefined ? "" : ` (${kind})`}${where}: ${events.map(({ name }) => name).join(", ")}${leader}${level}`;
}

function describeChoice({ source, events }: Extract<EventChoice, { ok: true }>, pmus: readonly Pmu[]): string {
  const units = pmus.filter(({ name }) => events.some(({ pmu }) => pmu === name));
  const named = units.map((pmu) =>
    describe(
      pmu,
      events.filter((event) => event.pmu === pmu.name),
    ),
  );
  return `${source === "pebs" ? "Intel, PEBS" : "AMD, IBS"}${units.length > 1 ? ", hybrid" : ""}: ${named.join("; ")}`;
}

export function isGuest({ virtualisation }: Pick<PmuFacts, "virtualisation">): boolean {
  return virtualisation !== null && virtualisation !== "none";
}

export function judgePmu(facts: PmuFacts): Check {
  const choices = sampleChoices(facts);
  const usable = choices.find((choice) => choice.ok);
  const guest = isGuest(facts);
  const units = facts.pmus.filter(({ name }) => CORE.test(name)).map(({ name }) => name);
  const answers = choices.map((choice) =>
    choice.ok ? { ...choice, events: choice.events.map(({ pmu, name }) => `${pmu}/${name}`) } : choice,
  );
  const data = { virtualisation: facts.virtualisation, units, answers };
  if (usable?.ok) {
    const passed = guest ? "; the hypervisor passes it on" : "";
    return check("pmu", "ok", `${describeChoice(usable, facts.pmus)}${passed}`, { data });
  }
  const found = units.length > 0 ? `${units.join(", ")}, which sample no loads and stores here` : "none is visible";
  const where = guest ? " in this virtual machine" : "";
  return check("pmu", guest ? "info" : "warn", `${found}${where}: loads and stores are seen by watchpoints only`, {
    fix: guest
      ? "use bare metal, or a hypervisor that passes PEBS on (KVM on Ice Lake and later: -cpu host,pmu=on)"
      : "dmesg | grep -i -e perf -e pmu -e ibs",
    data,
  });
}
