/** The part that every run has: mappings and processes of the tree, and the map of them that other parts follow. */
import { batchFromRows } from "../../../columnar/rows.ts";
import { MrmTraceError } from "../../../errors.ts";
import { monotonicNs } from "../../../kernel/libc.ts";
import type { Looks } from "../../../kernel/looks.ts";
import { openBpfObject } from "../../../kernel/open-bpf-object.ts";
import { createProcessMaps, type ProcessMaps } from "../../../regions/mapping-events.ts";
import type { MappingEvent } from "../../../regions/mapping-row.ts";
import type { ProcessTree } from "../../../target/process-tree.ts";
import type { Target } from "../../collector.ts";
import type { Part, PartPrograms } from "../part.ts";
import { runCost } from "../run-cost.ts";
import { ggufFiles } from "./gguf-files.ts";
import { openLifecycle } from "./lifecycle.ts";
import { lifecycleWarnings } from "./lifecycle-warnings.ts";
import { watchTree } from "./running-tree.ts";
import { settledLooks } from "./settled-looks.ts";

/** The address spaces of the tree, and who wants to know what changes in them. */
export interface MappingFeed {
  /** The map of watched processes, for the programs of other parts. */
  readonly targetsFd: number;
  readonly maps: ProcessMaps;
  /** Calls `listener` with the rows of every poll that has any, in order of time; `maps` shows them already. */
  follow(listener: (rows: readonly MappingEvent[]) => void): void;
}

export interface LifecyclePart extends Part {
  readonly feed: MappingFeed;
  /** Watches the tree of the target from now on. @throws MrmTraceError target, where it has ended */
  begin(): void;
  /** Records that were lost so far. */
  lost(): number;
}

/**
 * Rows that may come between two polls: a quarter of the names that the side band of a CPU holds. A mapping that has a
 * name is two rows, of the name and of the call, and a third when it goes.
 */
export const MAPPINGS_PER_POLL = 2 ** 11;

export const lifecyclePrograms: PartPrograms = {
  name: "lifecycle",
  gives: "mappings and processes",
  required: true,
  tells: [],
  load: async (reuse) => ({ object: await openBpfObject("lifecycle", { reuse }), uprobeMulti: false }),
};

/** Attaches its programs; nothing is watched until it begins. @throws MrmTraceError environment */
export async function startLifecycle(target: Target, tree: ProcessTree, looks: Looks): Promise<LifecyclePart> {
  const lifecycle = await openLifecycle(target.held ? target.pid : null, tree, looks.kind("looks at maps"));
  const maps = createProcessMaps({});
  const settled = settledLooks();
  const ggufs = ggufFiles(maps);
  const followers: ((rows: readonly MappingEvent[]) => void)[] = [];

  function poll() {
    const rows = lifecycle.drain();
    for (const row of rows) maps.apply(row);
    const now_ns = monotonicNs();
    for (const pid of maps.pidsNeedingSnapshot()) {
      lifecycle.requestSnapshot(pid);
      settled.doubted(pid, now_ns);
    }
    for (const pid of maps.takeDisturbed()) settled.disturbed(pid, now_ns);
    for (const pid of settled.take(now_ns, tree.lives)) lifecycle.requestSnapshot(pid);
    const whole = rows.concat(ggufs.take(rows));
    if (whole.length > 0) for (const listener of followers) listener(whole);
    return whole.length === 0 ? [] : [batchFromRows("mapping", whole)];
  }

  return {
    name: lifecyclePrograms.name,
    sees: { stream: "mapping", source: "region_map" },
    feed: {
      targetsFd: lifecycle.targetsFd,
      maps,
      follow(listener) {
        followers.push(listener);
      },
    },
    holds: { mapping: MAPPINGS_PER_POLL },
    begin() {
      if (watchTree(target.pid, lifecycle).includes(target.pid)) return;
      throw new MrmTraceError("target", "the target ended before it was traced", "start it again; something ended it");
    },
    poll,
    leave: () => lifecycle.leave(),
    detach: () => lifecycle.detach(),
    stop: () => ({ batches: poll(), ledger: lifecycle.ledger() }),
    account: () => lifecycle.ledger(),
    warnings: () => lifecycleWarnings(lifecycle),
    lost: () => lifecycle.lost(),
    mappingCalls: () => lifecycle.recorded() + lifecycle.lost(),
    costs(programs) {
      // A call runs two programs, one as it begins and one as it ends.
      const { value, lo, hi } = runCost(programs);
      return [
        { what: "mapping calls", count: lifecycle.recorded(), each_ns: { value: 2 * value, lo: 2 * lo, hi: 2 * hi } },
      ];
    },
    [Symbol.dispose]: () => lifecycle[Symbol.dispose](),
  };
}
