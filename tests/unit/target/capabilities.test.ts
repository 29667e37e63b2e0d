import { expect, test } from "bun:test";
import { CAPABILITY, capabilitiesIn, capabilitiesPassedOn, has } from "../../../src/target/capabilities.ts";

const STATUS = "Name:\tbun\nCapEff:\t000000c000080004\nCapAmb:\t0000000000000000\n";

test("capabilities are read by the name of their set", () => {
  expect(capabilitiesIn(STATUS, "CapEff")).toBe(0xc000080004n);
  expect(has(0xc000080004n, CAPABILITY.perfmon)).toBe(true);
  expect(has(0xc000080004n, CAPABILITY.checkpoint_restore)).toBe(false);
  expect(capabilitiesIn(STATUS, "CapAmb")).toBe(0n);
  expect(capabilitiesIn("CapEff:\tnone\n", "CapEff")).toBeNull();
});

test("a process without ambient capabilities passes none on, and one that cannot be read neither", () => {
  expect(capabilitiesPassedOn()).toBe(0n);
  expect(capabilitiesPassedOn("/nonexistent")).toBe(0n);
});
