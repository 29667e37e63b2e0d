/**
 * The event of AMD's instruction-based sampling: every n-th op, of which loads and stores say address, level and, for
 * loads that missed L1, latency (AMD APM vol. 2, 13.3; arch/x86/events/amd/ibs.c).
 */
import { placeTerms } from "./event-terms.ts";
import type { Pmu } from "./pmu.ts";
import { type EventChoice, kernelVersion } from "./sample-event.ts";

const FIRST_KERNEL = 6001;
/** The count register is in units of 16. */
const PERIOD_STEP = 16;
const START_PERIOD = PERIOD_STEP * 15_629;

function refusal(reason: string, hint: string): EventChoice {
  return { ok: false, source: "ibs", reason, hint };
}

/** The op event of IBS, or why it cannot be had. */
export function amdEvents(pmus: readonly Pmu[], kernelRelease: string): EventChoice {
  const pmu = pmus.find(({ name }) => name === "ibs_op");
  if (pmu === undefined) {
    return refusal(
      "no IBS here: the kernel offers no `ibs_op` event source",
      "run on an AMD CPU on bare metal (clouds hide IBS from VMs); --source watch works everywhere",
    );
  }
  if (kernelVersion(kernelRelease) < FIRST_KERNEL) {
    return refusal(
      `the IBS driver of kernel ${kernelRelease} gives samples no address`,
      "boot a kernel from 6.1 on, or use --source watch",
    );
  }
  // Ops, not cycles: an op that stalls would be sampled as often as it is slow. A filter by latency (ldlat) or by level
  // (l3missonly) would hide accesses from every rate, so both stay off.
  const wanted = ["cnt_ctl", "rand_en"].filter((name) => pmu.formats.has(name));
  const words = placeTerms(pmu, new Map(wanted.map((name) => [name, 1n])));
  if (words === null) {
    return refusal(
      "the format of ibs_op cannot be read",
      "report it with: grep -r . /sys/bus/event_source/devices/ibs_op/format",
    );
  }
  if (!wanted.includes("cnt_ctl")) {
    return refusal(
      "this CPU's IBS counts cycles only: slow accesses would be over-represented",
      "use a CPU whose /sys/bus/event_source/devices/ibs_op/format has cnt_ctl, or --source watch",
    );
  }
  return {
    ok: true,
    source: "ibs",
    events: [
      {
        ...words,
        name: "ops",
        pmu: pmu.name,
        type: pmu.type,
        cpus: pmu.cpus,
        op: null,
        counts: true,
        latency: true,
        mostPrecise: 0,
        leastPrecise: 0,
        canExclude: false,
        leader: null,
        periodStep: PERIOD_STEP,
        startPeriod: START_PERIOD,
        share: 1,
      },
    ],
  };
}
