import { expect, test } from "bun:test";
import { areCapabilitiesPassedOn, capabilitiesIn } from "../../../src/target/capabilities.ts";

const STATUS = "Name:\tbun\nCapEff:\t000000c000080004\nCapAmb:\t0000000000000000\n";

test("capabilities are read by the name of their set", () => {
  expect(capabilitiesIn(STATUS, "CapEff")).toBe(0xc000080004n);
  expect(capabilitiesIn(STATUS, "CapAmb")).toBe(0n);
  expect(capabilitiesIn("CapEff:\tnone\n", "CapEff")).toBeNull();
});

test("a process without ambient capabilities passes none on, and one that cannot be read neither", () => {
  expect(areCapabilitiesPassedOn()).toBe(false);
  expect(areCapabilitiesPassedOn("/nonexistent")).toBe(false);
});
