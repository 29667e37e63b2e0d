import { expect, test } from "bun:test";
import { batchFromRows } from "../../../src/columnar/rows.ts";
import { createExitSight } from "../../../src/record/exit-sight.ts";
import { emptyMappingEvent, type MappingEvent } from "../../../src/regions/mapping-row.ts";

const exitRow = (pid: number, result: bigint | null, time_ns = 5n): MappingEvent => ({
  ...emptyMappingEvent("exit", time_ns, pid),
  result,
});

function exitAfter(...rows: MappingEvent[]) {
  const sight = createExitSight(7);
  sight.take(batchFromRows("mapping", rows));
  return sight.exit;
}

test("an exit code stands above the signal, of which a core dump is no part", () => {
  expect(exitAfter(exitRow(7, 7n << 8n))).toEqual({ exit_code: 7, signal: null, ended_ns: 5n });
  expect(exitAfter(exitRow(7, 0n))).toMatchObject({ exit_code: 0, signal: null });
  expect(exitAfter(exitRow(7, 9n))).toMatchObject({ exit_code: null, signal: "SIGKILL" });
  expect(exitAfter(exitRow(7, 0x80n | 6n))).toMatchObject({ exit_code: null, signal: "SIGABRT" });
  expect(exitAfter(exitRow(7, 0x80n | 11n))).toMatchObject({ exit_code: null, signal: "SIGSEGV" });
  expect(exitAfter(exitRow(7, 40n))).toMatchObject({ exit_code: null, signal: "signal 40" });
});

test("the end of another process, one without its status, and that of a later process of its number tell nothing", () => {
  expect(exitAfter(exitRow(8, 9n), exitRow(7, null))).toBeNull();
  expect(exitAfter(exitRow(7, 9n), exitRow(7, 0n, 6n))).toMatchObject({ signal: "SIGKILL", ended_ns: 5n });
  expect(exitAfter({ ...exitRow(7, 9n), kind: "exec" })).toBeNull();
});
