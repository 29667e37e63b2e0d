/** The plans that the kernel program has, by number: which probe of which engine each belongs to. */
import { MrmTraceError } from "../../errors.ts";
import type { BpfMap } from "../../kernel/bpf-map.ts";
import { u32Bytes } from "../../kernel/bpf-map.ts";
import { ENGINE } from "../../schema/shared-numbers.ts";
import type { EngineProbe } from "../engine.ts";
import { type CapturePlan, planBytes } from "./capture-plan.ts";

export interface Capture {
  /** Place of the engine in the list of the session. */
  readonly engine: number;
  readonly probe: number;
  readonly isReturn: boolean;
  readonly plan: CapturePlan;
}

export interface CaptureTable {
  /** Number of a probe's plan, which the kernel program has from then on. @throws MrmTraceError failure when it is full */
  numberOf(engine: number, probe: EngineProbe): number;
  /** Whether the plans of an engine that read blocks tell of the first cache of a storage alone. */
  setFirstOnly(engine: number, firstOnly: boolean): void;
  /** By number. */
  readonly captures: readonly Capture[];
}

/** An empty table. @param map engine_captures of the kernel program */
export function captureTable(map: Pick<BpfMap, "update">): CaptureTable {
  const captures: Capture[] = [];
  const firstOnlyOf = new Set<number>();
  return {
    captures,
    numberOf(engine, { probe, isReturn, capture: plan }) {
      const same = (other: Capture): boolean =>
        other.engine === engine && other.probe === probe && other.isReturn === isReturn && other.plan === plan;
      const index = captures.findIndex(same);
      if (index >= 0) return index;
      if (captures.length >= ENGINE.captures) {
        const hint = "report it with the list of engines: a probe has more plans than its engine has functions";
        throw new MrmTraceError("failure", `the table of ${ENGINE.captures} captures of engines is full`, hint);
      }
      map.update(u32Bytes(captures.length), planBytes(plan, firstOnlyOf.has(engine)));
      captures.push({ engine, probe, isReturn, plan });
      return captures.length - 1;
    },
    setFirstOnly(engine, firstOnly) {
      if (firstOnlyOf.has(engine) === firstOnly) return;
      if (firstOnly) firstOnlyOf.add(engine);
      else firstOnlyOf.delete(engine);
      for (const [index, { engine: one, plan }] of captures.entries()) {
        const readsBlocks = plan.parts.some(({ form }) => form === "blocks");
        if (one === engine && readsBlocks) map.update(u32Bytes(index), planBytes(plan, firstOnly));
      }
    },
  };
}
