import { expect, test } from "bun:test";
import { nameOfMetric } from "../../../src/report/table-order.ts";

test("metrics have names in words where their table stands by itself, and one that none has keeps its own", () => {
  expect(nameOfMetric("iai_p50_ns")).toBe("between accesses: p50");
  expect(nameOfMetric("resident_bytes")).toBe("in memory");
  expect(nameOfMetric("of_a_later_version")).toBe("of_a_later_version");
});
