import { expect, test } from "bun:test";
import { capturePlan } from "../../../../src/engine/probing/capture-plan.ts";
import { captureTable } from "../../../../src/engine/probing/capture-table.ts";
import { probesOf } from "../../../../src/engine/vllm/probes.ts";
import { recordLayout } from "../../../../src/schema/records.ts";

test("plans that read blocks tell of the first cache alone while they are told to, and no others do", () => {
  const plans = new Map<number, number>();
  const { first_only } = recordLayout("engine_capture").offsets;
  const table = captureTable({
    update: (key, value) => void plans.set(new DataView(key.buffer).getUint32(0, true), value[first_only] ?? -1),
  });
  const symbol = { type: "function", fileOffset: 64 } as never;
  const probes = probesOf({ path: "_C.abi3.so", soname: null, buildId: null, symbol: () => symbol });
  const blocks = probes.find(({ capture }) => capture.parts.some(({ form }) => form === "blocks"));
  if (process.arch !== "x64" || blocks === undefined) return;
  const other = { ...blocks, probe: 9, capture: capturePlan() };
  const [first, second, third] = [table.numberOf(0, blocks), table.numberOf(0, other), table.numberOf(1, blocks)];
  const told = () => [first, second, third].map((number) => plans.get(number));
  expect(told()).toEqual([0, 0, 0]);
  table.setFirstOnly(0, true);
  expect(told()).toEqual([1, 0, 0]);
  // One that is found meanwhile is as the others.
  const late = table.numberOf(0, { ...blocks, probe: 10 });
  expect(plans.get(late)).toBe(1);
  table.setFirstOnly(0, false);
  expect([...told(), plans.get(late)]).toEqual([0, 0, 0, 0]);
});
