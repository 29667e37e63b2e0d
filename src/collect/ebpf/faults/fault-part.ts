/** The part that records page faults. */
import type { Part, PartPrograms, PlannedPart, Scene } from "../part.ts";
import { runCost } from "../run-cost.ts";
import { loadFaultObject, openFaults } from "./faults.ts";

/** Faults that may come between two polls: two sevenths of what the ring of one CPU holds. */
export const FAULTS_PER_POLL = 2 ** 15;

export const faultPrograms: PartPrograms = {
  name: "faults",
  gives: "page faults",
  required: true,
  tells: [],
  load: async (reuse) => ({ object: await loadFaultObject(reuse), uprobeMulti: false }),
};

async function startFaults({ mappings }: Scene): Promise<Part> {
  const faults = await openFaults(mappings.targetsFd);
  return {
    name: faultPrograms.name,
    sees: { stream: "fault", source: "fault" },
    holds: { fault: FAULTS_PER_POLL },
    poll: () => faults.drain(),
    detach: () => faults.detach(),
    stop: () => ({ batches: faults.drain(), ledger: faults.ledger() }),
    account: () => faults.ledger(),
    costs(programs) {
      const recorded = faults.ledger().reduce((sum, { seen }) => sum + seen, 0);
      return [{ what: "faults recorded", count: recorded, each_ns: runCost(programs) }];
    },
    [Symbol.dispose]: () => faults[Symbol.dispose](),
  };
}

export const faultPart: PlannedPart = {
  name: faultPrograms.name,
  sources: [],
  identifies: [],
  blindTo: null,
  spends: false,
  start: startFaults,
};
