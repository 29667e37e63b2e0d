/** The collectors of a recording: made from its options, asked whether they can, started together. */
import type { Collector, Target } from "../collect/collector.ts";
import { type CollectorSettings, type Collectors, createCollectors } from "../collect/collectors.ts";
import type { AttachOptions, RunOptions } from "../config/schema.ts";
import { MrmTraceError } from "../errors.ts";
import { namespaceFacts, refusalOfProc } from "../target/namespaces.ts";

/** Options of the tracer, whether it launches its target or finds it running. */
export type TracerOptions = AttachOptions & Partial<Pick<RunOptions, "memray">>;

/** What a collector that can run says of itself. */
export type CanRun = Extract<Awaited<ReturnType<Collector["canRun"]>>, { ok: true }>;

/** The collectors that the options name. @param known_by_now of the target, of the run directory and of this process */
export function collectorsOf(
  options: TracerOptions,
  known_by_now: Pick<CollectorSettings, "engineObjects" | "rawDir" | "isOwnProcess">,
): Collectors {
  return createCollectors(options.collector, {
    budgetPct: options.budget,
    budgetByTurns: options.check_invariance,
    watchRegisters: options.watch_registers,
    sources: options.source,
    parts: options.ebpf,
    clockHz: options.clock_hz,
    memray: options.memray ?? [],
    recordCommand: options.record_command,
    seed: options.seed,
    perfMem: options.perf,
    ...known_by_now,
  });
}

/** What each collector says of itself. @throws MrmTraceError environment, where one of them cannot run */
export async function requireCollectors({ all }: Collectors, target: Target) {
  // Every collector takes a process for the one that /proc shows under its number.
  const refusal = refusalOfProc(namespaceFacts());
  if (refusal !== null) throw new MrmTraceError("environment", refusal.reason, refusal.fix);
  const able: { readonly collector: Collector; readonly can: CanRun }[] = [];
  for (const collector of all) {
    const can = await collector.canRun(target);
    if (!can.ok) throw new MrmTraceError(can.isUsage ? "usage" : "environment", can.reason, can.hint);
    able.push({ collector, can });
  }
  return able;
}

/**
 * Starts them in order, and asks each again now that it has its target; where one fails, all are stopped.
 * @throws MrmTraceError of the one that failed
 */
export async function startCollectors(collectors: Collectors, target: Target) {
  const { all } = collectors;
  try {
    for (const collector of all) await collector.start(target);
    return await requireCollectors(collectors, target);
  } catch (error) {
    await Promise.allSettled(all.map((collector) => collector.stop()));
    throw error;
  }
}
