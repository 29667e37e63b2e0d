import { expect, test } from "bun:test";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import { input, MS, region, watch } from "../sample-input.ts";

/** 120 watches that see a pass of `usual` accesses every 40 ms, and one with a pass of which it sees `others`, its last trap being in it where `isCut`. */
function figure(usual: number, isCut: boolean, { others = 8, first = (_: number): number => 5 } = {}) {
  const passes = (begin: number, hits: number) =>
    Array.from({ length: hits }, (_, k) => [begin + 7000 * k, "load"] as const);
  const many = Array.from({ length: 120 }, (_, i) => {
    const begin_ns = 7 * MS * i;
    const hits = [0, 40, 80].flatMap((ms) =>
      first(i) + ms < 99 ? passes(begin_ns + (first(i) + ms) * MS, usual) : [],
    );
    return watch(hits, {
      watch_id: i,
      addr: BigInt(4096 + 8 * i),
      begin_ns,
      end_ns: begin_ns + 100 * MS,
      trap_limit: 32,
    });
  });
  const long = passes(905 * MS, others);
  const end_ns = isCut ? (long.at(-1)?.[0] ?? 0) : 985 * MS;
  const one = watch(long, {
    ...{ watch_id: 120, addr: 8000n, begin_ns: 900 * MS, end_ns, dwell_limit_ns: 85 * MS },
    ...(isCut ? { ended_by: "trap_limit", trap_limit: 8 } : { trap_limit: 32 }),
  });
  return computeMetrics(input({ regions: [region()], watches: [...many, one] })).find(
    ({ metric }) => metric === "hits_per_pass",
  );
}

test("accesses per pass have no upper end where the last trap cut a pass that is longer than any that was seen whole", () => {
  expect(figure(1, false)).toMatchObject({ status: "ok", hi: expect.any(Number) });
  const cut = figure(1, true);
  expect(cut).toMatchObject({ status: "bound", value: null, hi: null });
  expect(cut?.lo).toBe(1);
  expect(cut?.why).toBe(
    "the trap limit cut a pass of 8 accesses or more, and none that was seen whole has more than 1",
  );
});

test("accesses per pass have a value where others as long as one that the last trap cut were seen whole", () => {
  expect(figure(8, true)).toMatchObject({ status: "ok", value: 8 });
});

test("accesses per pass leave room for two passes that meet, which are one, though no watch saw any", () => {
  const { value, hi } = figure(26, false, { others: 26, first: (i) => 0.5 + ((11 * i) % 40) }) ?? {};
  expect(value).toBeCloseTo(26, 9);
  const room = (hi ?? 0) - 26;
  // None of some 121 at 97.5 %: 3 % of the passes may have 52.
  expect(room).toBeWithin(0.03 * 26, 0.035 * 26);
});
