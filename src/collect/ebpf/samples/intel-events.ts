/**
 * Events of Intel's PEBS that sample every retired load and store with its address.
 *
 * The kernel names mem-loads (load latency) and mem-stores in sysfs. The load-latency facility tags only some loads, so
 * its samples tell levels and latencies, but no totals: those come from all retired loads (event 0xd0, umask 0x81) and
 * stores (0xd0, 0x82), which carry an address since Haswell (Intel SDM vol. 3B, "Data Linear Address";
 * arch/x86/events/intel/ds.c). The same encodings hold on the small cores from Gracemont on (MEM_UOPS_RETIRED).
 */
import { type ConfigWords, parseTerms, placeTerms } from "./event-terms.ts";
import type { Pmu } from "./pmu.ts";
import type { EventChoice, SampleEvent } from "./sample-event.ts";

const CORE_PMU = /^cpu(_core|_atom|_lowpower)?$/;
const ALL_LOADS = "event=0xd0,umask=0x81";
const ALL_STORES = "event=0xd0,umask=0x82";
/** Samples of stores alone on Sapphire Rapids and later, not of all of them. */
const STORE_SAMPLE_EVENT = 0xcdn;
/** Before Haswell only the load-latency event gives the address of a load. */
const WITHOUT_LOAD_ADDRESS = ["nehalem", "westmere", "sandybridge", "ivybridge"];
/** What the documentation allows where the kernel says nothing (caps/max_precise came with 4.18). */
const DEFAULT_PRECISE = 2;

/** From Sapphire Rapids on, and on small cores, the level above is to be had on one counter only (core.c, PDist). */
const PRECISE_SIDE_BY_SIDE = 2;

function words(pmu: Pmu, terms: string | undefined): ConfigWords | null {
  const parsed = terms === undefined ? null : parseTerms(terms);
  return parsed === null ? null : placeTerms(pmu, parsed);
}

/** Terms of the event of all retired stores: the kernel's own where it is that, else the documented one. */
function storeTerms(pmu: Pmu): string {
  const named = pmu.events.get("mem-stores");
  const event = named === undefined ? undefined : parseTerms(named)?.get("event");
  return named === undefined || event === STORE_SAMPLE_EVENT ? ALL_STORES : named;
}

function eventsOf(pmu: Pmu, precise: number): SampleEvent[] | null {
  const loads = words(pmu, ALL_LOADS);
  const stores = words(pmu, storeTerms(pmu));
  const latency = words(pmu, pmu.events.get("mem-loads"));
  const aux = pmu.events.get("mem-loads-aux");
  const leader = aux === undefined ? null : words(pmu, aux);
  if (loads === null || stores === null || latency === null || (aux !== undefined && leader === null)) return null;
  const common = {
    pmu: pmu.name,
    type: pmu.type,
    cpus: pmu.cpus,
    // Two events at the highest level would take turns on its counter, and each miss half of the time.
    mostPrecise: Math.min(precise, PRECISE_SIDE_BY_SIDE),
    leastPrecise: 1,
    canExclude: true,
    leader: null,
    periodStep: 1,
    counts: true,
    latency: false,
  };
  return [
    { ...common, ...loads, name: "all_loads", op: "load", mostPrecise: precise, startPeriod: 250_007, share: 0.5 },
    { ...common, ...stores, name: "all_stores", op: "store", startPeriod: 100_003, share: 0.25 },
    {
      ...common,
      ...latency,
      name: "load_latency",
      op: "load",
      counts: false,
      latency: true,
      leader,
      startPeriod: 2003,
      share: 0.25,
    },
  ];
}

function refusal(reason: string, hint: string): EventChoice {
  return { ok: false, source: "pebs", reason, hint };
}

/** The events of every core PMU that has PEBS, or why there are none. */
export function intelEvents(pmus: readonly Pmu[]): EventChoice {
  const cores = pmus.filter((pmu) => CORE_PMU.test(pmu.name));
  if (cores.length === 0) {
    return refusal(
      "no PMU here: the kernel offers no `cpu` event source",
      "run on bare metal, or in a VM whose host passes its PMU through; --source watch works everywhere",
    );
  }
  const events: SampleEvent[] = [];
  let why = refusal(
    "the PMU has no PEBS: its events do not include mem-loads",
    "run on an Intel CPU from Haswell on, on bare metal; --source watch works everywhere",
  );
  for (const pmu of cores) {
    if (!pmu.events.has("mem-loads")) continue;
    const precise = Number(pmu.caps.get("max_precise") ?? DEFAULT_PRECISE);
    const name = pmu.caps.get("pmu_name") ?? "";
    if (!(precise >= 1)) {
      why = refusal(
        `PEBS is not passed through to this machine: ${pmu.name}/caps/max_precise is ${precise}`,
        "on the host, enable vPEBS for this VM (Ice Lake or later), or run on bare metal; --source watch works everywhere",
      );
      continue;
    }
    if (WITHOUT_LOAD_ADDRESS.includes(name)) {
      why = refusal(
        `PEBS of ${name} gives no address for loads in general: rates could not be told`,
        "use a CPU from Haswell on, or --source watch",
      );
      continue;
    }
    const found = eventsOf(pmu, Math.min(precise, 3));
    if (found === null) {
      why = refusal(
        `the format of ${pmu.name} has no place for its memory events`,
        `report it with: grep -r . /sys/bus/event_source/devices/${pmu.name}/{format,events,caps}`,
      );
      continue;
    }
    events.push(...found);
  }
  return events.length > 0 ? { ok: true, source: "pebs", events } : why;
}
