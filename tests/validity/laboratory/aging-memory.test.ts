import { expect, test } from "bun:test";
import { METRICS } from "../../../src/analyse/metrics/registry.ts";
import { coverageOf } from "../../../src/simulate/coverage.ts";
import { LIVING_WORLDS } from "./living-worlds.ts";

test("memory that is used most right after it came is told with these uses, of which few windows hold any", () => {
  const world = LIVING_WORLDS.find(({ name }) => name.includes("ever more seldom with age"));
  if (world === undefined) throw new Error("no such world");
  const families = METRICS.filter(({ metrics }) => metrics.some(({ name }) => name === "read_bytes_per_s"));
  const [read] = coverageOf(world, { seeds: 10, first: 1, families });
  // With each moment counted alike three of four intervals held, around 0.82 of the truth.
  expect(read?.ok).toBe(10);
  expect(read?.held).toBeGreaterThanOrEqual(9);
  expect(read?.ratio).toBeWithin(0.9, 1.1);
}, 60_000);
