/** Words so busy that their watches end before the next write are needed longest: those of them that were drawn show that there may be more. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { retention } from "../../../src/analyse/metrics/retention.ts";
import { coverageOf } from "../../../src/simulate/coverage.ts";
import { WORLDS } from "./worlds.ts";

setDefaultTimeout(120_000);

test("where a hundredth of the words are needed longest and touched too often to be watched so long, the time of 99 % has no near upper end", () => {
  const kind = WORLDS.find(({ name }) => name === "1 % of the words touched 200 times a token, the others 2");
  if (kind === undefined) throw new Error("the world is gone");
  const rows = coverageOf(kind, { seeds: 12, first: 500001, families: [retention] });
  expect(rows.map(({ metric }) => metric)).toEqual(["retention_p50_ns", "retention_p90_ns", "retention_p99_ns"]);
  for (const { metric, ok, held, bound, right } of rows)
    expect({ metric, held, right }).toEqual({ metric, held: ok, right: bound });
  expect(rows.map(({ ok, bound }) => ok + bound)).toEqual([rows[0]?.ok ?? -1, rows[0]?.ok ?? -1, rows[0]?.ok ?? -1]);
  expect(rows[0]?.ok).toBeGreaterThanOrEqual(9);
});
