/** The examination of this machine: facts first, judgement after, nothing changed and nothing left attached. */
import { sourceFacts } from "../collect/ebpf/ebpf.ts";
import { judgePrivileges, privilegeFacts } from "../collect/ebpf/requirements.ts";
import { chooseSources } from "../collect/ebpf/samples/choose-sources.ts";
import { createSensorReader, findSensors } from "../collect/process/sensors.ts";
import { runSchema } from "../config/schema.ts";
import { EXIT_CODES } from "../errors.ts";
import { hostFacts } from "../overhead/host.ts";
import { check } from "../schema/check.ts";
import { CHECK_STATUSES, type Check, type CheckStatus, type Examination } from "../schema/examination.ts";
import { JSON_SCHEMA_VERSION } from "../schema/versions.ts";
import { type AttachFacts, attachFacts, builtParts, judgeAttachPoints } from "./attach-points.ts";
import { engineFacts, judgeEngines } from "./engines.ts";
import { judgeKernel, kernelFacts } from "./kernel.ts";
import { judgePmu } from "./pmu.ts";
import { judgeRegisters, judgeTrapCost, registerFacts, trapCostFacts } from "./registers.ts";
import { judgeRoom, roomFacts } from "./room.ts";
import { judgeSampling, samplingFacts } from "./sampling.ts";
import { judgeSoftware, softwareFacts } from "./software.ts";
import { judgeSources } from "./sources.ts";
import { judgeThermal } from "./thermal.ts";

export interface ExamineOptions {
  /** Folder for run directories, as `run` takes it. */
  readonly output: string;
  /** Range of versions of Bun that the package asks for. */
  readonly bunNeeded: string;
}

/** The checks of one kind; where looking itself fails, one check that says so, and the others go on. */
async function looked(name: string, look: () => Check[] | Promise<Check[]>): Promise<Check[]> {
  try {
    return await look();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const fix = "report it with: mrm-trace doctor --json";
    return [check(name, "fail", `could not be examined: ${message.split("\n")[0]}`, { fix })];
  }
}

function worstOf(checks: readonly Check[]): CheckStatus {
  return checks.reduce<CheckStatus>(
    (worst, { status }) => (CHECK_STATUSES.indexOf(status) > CHECK_STATUSES.indexOf(worst) ? status : worst),
    "ok",
  );
}

async function attachAll(tracefs: boolean): Promise<AttachFacts[]> {
  const found: AttachFacts[] = [];
  // One after the other: what they hold together is not asked here.
  for (const part of builtParts()) found.push(await attachFacts(part, tracefs));
  return found;
}

/**
 * Examines this machine: about 1 s as root, less without. Loads and attaches every program for a moment, takes the free
 * debug registers for a moment, asks perf and memray for their versions; writes no file, sets no switch. Never throws.
 */
export async function examineMachine({ output, bunNeeded }: ExamineOptions): Promise<Examination> {
  const host = hostFacts();
  const kernel = kernelFacts(host);
  const pmu = { ...sourceFacts(), virtualisation: host.virtualisation };
  const choice = chooseSources(["auto"], pmu);
  const plan = choice.ok ? choice.samples : null;
  const defaults = runSchema.pick({ budget: true, max_size: true }).parse({});
  const sensors = findSensors();
  const thermal = { sensors, reading: createSensorReader(sensors)(), ...host };
  const checks = [
    ...(await looked("kernel", () => judgeKernel(kernel))),
    ...(await looked("user", () => judgePrivileges(privilegeFacts()))),
    ...(await looked("bun", async () => judgeSoftware(await softwareFacts(bunNeeded)))),
    ...(await looked("attach", async () => judgeAttachPoints(await attachAll(kernel.tracefs)))),
    ...(await looked("watch_registers", () => [judgeRegisters(registerFacts())])),
    ...(await looked("trap_cost", async () => [judgeTrapCost(await trapCostFacts(), defaults.budget)])),
    ...(await looked("pmu", () => [judgePmu(pmu)])),
    ...(await looked("sampling", async () =>
      plan === null ? [] : [judgeSampling(await samplingFacts(plan, pmu.kernelRelease))],
    )),
    ...(await looked("throttle_counters", () => judgeThermal(thermal))),
    ...(await looked("demo_engine", () => judgeEngines(engineFacts()))),
    ...(await looked("disk", async () =>
      judgeRoom(await roomFacts(output, host.memory_available_bytes), defaults.max_size),
    )),
  ];
  const status = worstOf(checks);
  return {
    schema_version: JSON_SCHEMA_VERSION,
    status,
    exit_code: status === "fail" ? EXIT_CODES.environment : EXIT_CODES.ok,
    checks,
    sources: judgeSources({ pmu, checks }),
  };
}
