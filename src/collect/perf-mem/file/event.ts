/** What the samples of an event are to us: accesses of some source, page faults, or nothing. */

import type { AccessOp, AccessSource } from "../../../schema/words.ts";
import { EVENT_TYPE, SAMPLE, SOFTWARE } from "./abi.ts";
import type { EventAttribute } from "./attribute.ts";
import { uncounted } from "./counted-events.ts";
import { planSamples, type SamplePlan } from "./sample-plan.ts";

export type SampledOp = AccessOp;

export type EventUse = "access" | "fault" | "timer" | "breakpoint" | "none";

export interface FileEvent {
  readonly attribute: EventAttribute;
  readonly name: string;
  readonly use: EventUse;
  /** Name of the source in the access stream. */
  readonly source: AccessSource;
  /** Read or write by what the event counts, for samples whose data source word does not say. */
  readonly op: SampledOp;
  /** Why a period is no number of accesses, in words behind the name; null where it is one. */
  readonly uncounted: string | null;
  readonly plan: SamplePlan;
  /** Why no sample of it is kept; null where they are. */
  readonly unused: string | null;
}

const BP_READ = 1;
const BP_WRITE = 2;

function softwareName(attribute: EventAttribute): string {
  const names: Readonly<Record<number, string>> = {
    [SOFTWARE.CPU_CLOCK]: "cpu-clock",
    [SOFTWARE.TASK_CLOCK]: "task-clock",
    [SOFTWARE.PAGE_FAULTS]: "page-faults",
    [SOFTWARE.PAGE_FAULTS_MIN]: "minor-faults",
    [SOFTWARE.PAGE_FAULTS_MAJ]: "major-faults",
  };
  return names[Number(attribute.config)] ?? "";
}

/** The name of an event that the file does not name. */
export function eventName(attribute: EventAttribute): string {
  if (attribute.type === EVENT_TYPE.BREAKPOINT) return `mem:0x${attribute.bp_addr.toString(16)}/${attribute.bp_len}`;
  const software = attribute.type === EVENT_TYPE.SOFTWARE ? softwareName(attribute) : "";
  return software || `type ${attribute.type} config 0x${attribute.config.toString(16)}`;
}

function useOf({ type, config, sample_type }: EventAttribute): EventUse {
  const number = Number(config);
  if (type === EVENT_TYPE.BREAKPOINT) return "breakpoint";
  if (type === EVENT_TYPE.SOFTWARE) {
    if (number === SOFTWARE.CPU_CLOCK || number === SOFTWARE.TASK_CLOCK) return "timer";
    const faults: readonly number[] = [SOFTWARE.PAGE_FAULTS, SOFTWARE.PAGE_FAULTS_MIN, SOFTWARE.PAGE_FAULTS_MAJ];
    return faults.includes(number) ? "fault" : "none";
  }
  return sample_type & SAMPLE.ADDR ? "access" : "none";
}

/** The source by the name of the PMU: `pmus` are its numbers by name, where the file has them. */
function sourceOf(
  attribute: EventAttribute,
  name: string,
  use: EventUse,
  pmus: ReadonlyMap<number, string>,
): AccessSource {
  if (use === "timer") return "clock";
  if (use === "breakpoint") return "watch";
  const pmu = pmus.get(attribute.type) ?? name;
  if (/ibs/i.test(pmu)) return "ibs";
  return /arm_spe|spe/i.test(pmu) ? "spe" : "pebs";
}

function opOfEvent(attribute: EventAttribute, name: string, use: EventUse): SampledOp {
  if (use === "breakpoint") {
    const kind = attribute.bp_type & (BP_READ | BP_WRITE);
    return kind === BP_WRITE ? "store" : kind === BP_READ ? "load" : "unknown";
  }
  if (/store/i.test(name)) return "store";
  return /load/i.test(name) ? "load" : "unknown";
}

/** An event as the rest of the reader needs it. */
export function fileEvent(
  attribute: EventAttribute,
  given: string | null,
  pmus: ReadonlyMap<number, string> = new Map(),
): FileEvent {
  const name = given || eventName(attribute);
  const use = useOf(attribute);
  const leader = /mem-loads-aux/.test(name);
  const unused = attribute.unknown_fields
    ? "unknown_fields"
    : leader
      ? "auxiliary_leader"
      : use === "none"
        ? "no_address"
        : null;
  const source = sourceOf(attribute, name, use, pmus);
  return {
    attribute,
    name,
    use,
    source,
    op: opOfEvent(attribute, name, use),
    uncounted: uncounted(attribute, name, source === "ibs"),
    plan: planSamples(attribute),
    unused,
  };
}
