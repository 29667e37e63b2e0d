/** The part that finds an inference engine in the tree and records its tensors and steps. */
import type { Batch } from "../../../columnar/batch.ts";
import { batchFromRows } from "../../../columnar/rows.ts";
import type { Engine } from "../../../engine/engine.ts";
import { ENGINES } from "../../../engine/engines.ts";
import { openEngineObject } from "../../../engine/probing/object-probes.ts";
import { createEngineSession, type EngineSession } from "../../../engine/probing/session.ts";
import { monotonicNs } from "../../../kernel/libc.ts";
import type { Look } from "../../../kernel/looks.ts";
import { openBpfObject } from "../../../kernel/open-bpf-object.ts";
import { readRemote } from "../../../kernel/remote-memory.ts";
import type { MappingEvent } from "../../../regions/mapping-row.ts";
import { treeOf } from "../../../target/tree.ts";
import { calibratedCost } from "../../calibrated-cost.ts";
import { snapshotRows } from "../lifecycle/maps-look.ts";
import { ATTENTIVE_MS, type Part, type PartPrograms, type PlannedPart, type Scene } from "../part.ts";
import { deviceLibraries } from "./device-libraries.ts";
import { createEngineObjects, type EngineObjects } from "./engine-objects.ts";
import { namelessModels } from "./nameless-models.ts";
import { mappedObjects, symbolAddresses } from "./symbol-address.ts";
import { weightFiles } from "./weight-files.ts";

/** What other parts may ask of the engine while it runs. */
export interface EngineSight extends Pick<EngineSession, "tokenPeriodNs" | "kvHead" | "liveTensors"> {
  /** Grows whenever tensors were placed or went away. */
  changes(): number;
}

/** Where no probe could be timed: 1 us on bare metal, 10 us in a nested VM. */
const ASSUMED_PROBE_NS = { value: 5000, lo: 500, hi: 12_000 };

/**
 * A probe interrupts code that has other caches and branches in use than the loop by which it was calibrated: four times as much was
 * measured in Python (docs/decisions/032-sites-of-probes.md).
 */
const MOST_OF_A_PROBE = 5;

export const enginePrograms: PartPrograms = {
  name: "engine",
  gives: "the engine's tensors and steps",
  required: true,
  tells: [],
  async load(reuse) {
    const { object, multi } = await openEngineObject(openBpfObject, reuse);
    return { object, uprobeMulti: multi };
  },
};

/** Offers what the tree has mapped by now, so that its engine is probed before the first of its steps is asked for. */
async function offerMapped(objects: EngineObjects, root: number, look: Look): Promise<void> {
  for (const pid of treeOf(root)) await objects.offer(snapshotRows(pid, 0, look) ?? []);
}

async function startEngine(
  paths: readonly string[],
  engines: readonly Engine[],
  { target, mappings, looks }: Scene,
): Promise<Part> {
  const look = looks.kind("reads of its memory");
  const files = weightFiles(mappings.maps);
  const devices = deviceLibraries();
  const session = await createEngineSession({
    engines,
    nameAt: files.nameAt,
    addressOf: symbolAddresses(looks.kind("looks at maps")),
    objectAt: mappedObjects(looks.kind("looks at maps")),
    targetsFd: mappings.targetsFd,
    openObject: openBpfObject,
    readMemory: (pid, address, length) => look(() => readRemote(pid, address, length)),
  });
  using opening = new DisposableStack();
  opening.defer(() => void session.stop());
  const objects = createEngineObjects(session);
  const models = namelessModels((pid) => session.isIn(pid));
  for (const path of paths) await session.attachObject(path, target.pid);
  if (!target.held) await offerMapped(objects, target.pid, looks.kind("looks at maps"));
  let changes = 0;
  let stopped: ReturnType<EngineSession["stop"]> | null = null;

  function follow(rows: readonly MappingEvent[]): void {
    models.follow(rows);
    for (const { kind, pid } of rows) {
      if (kind !== "exit" && kind !== "exec") continue;
      session.forget(pid);
      changes += 1;
    }
    void objects.offer(rows);
    files.follow(rows);
    devices.follow(rows);
  }

  function rowsOfFiles(): Batch[] {
    const { tensors, steps } = files.takeRows();
    const batches: Batch[] = [];
    if (tensors.length > 0) batches.push(batchFromRows("tensor", tensors));
    if (steps.length > 0) batches.push(batchFromRows("step", steps));
    return batches;
  }

  mappings.follow(follow);
  const owned = opening.move();
  return {
    name: enginePrograms.name,
    sees: { stream: "engine", source: null },
    offers: {
      engine: {
        tokenPeriodNs: () => session.tokenPeriodNs(),
        kvHead: () => session.kvHead(),
        liveTensors: () => [...session.liveTensors(), ...files.liveTensors()],
        changes: () => changes,
      },
    },
    patienceMs: ATTENTIVE_MS,
    poll() {
      const batches = [...session.drain(), ...rowsOfFiles()];
      if (batches.some(({ table }) => table === "tensor")) changes += 1;
      return batches;
    },
    leave() {
      objects.close();
      session.leave();
    },
    detach() {
      stopped = session.stop();
    },
    stop() {
      const { batches, ledger } = stopped ?? session.stop();
      return { batches: [...batches, ...rowsOfFiles()], ledger: [...ledger] };
    },
    account: () => session.account(),
    costs() {
      const { hits, mean_ns } = session.hitCost();
      const each_ns = mean_ns === null ? ASSUMED_PROBE_NS : calibratedCost(mean_ns, MOST_OF_A_PROBE);
      return [{ what: "engine probes", count: hits, each_ns }];
    },
    warnings: () => [
      ...objects.warnings(),
      ...session.untold(),
      ...models.warnings(),
      ...files.warnings(monotonicNs(), session),
      ...devices.warnings(),
    ],
    [Symbol.dispose]: () => owned.dispose(),
  };
}

/** @param paths shared objects of an engine that are known before the target starts: probed at once, so nothing is missed */
export function enginePart(paths: readonly string[], engines: readonly Engine[] = ENGINES): PlannedPart {
  return {
    name: enginePrograms.name,
    sources: [],
    identifies: ["step"],
    blindTo: null,
    spends: false,
    start: (scene) => startEngine(paths, engines, scene),
  };
}
