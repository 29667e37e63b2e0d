import { expect, test } from "bun:test";
import fc from "fast-check";
import { createHeat } from "../../../../src/collect/ebpf/samples/heat.ts";
import type { DrawRegion } from "../../../../src/collect/ebpf/watch/draw.ts";
import { wholeStratum } from "../../../../src/regions/sampled-stratum.ts";

const PAGE = 4096n;
const SPAN_NS = 2_000_000_000n;

const region = fc.record({
  pid: fc.constantFrom(1, 2),
  addr: fc.bigInt({ min: 0n, max: 40n * PAGE }),
  size_bytes: fc.integer({ min: 1, max: 12 * 4096 }),
  stratum: fc.constantFrom("weight/q8_0", "activation"),
  region_type: fc.constant("weight"),
  tensor: fc.constant(null),
});

test("hot pages get a stratum of their own, and every byte stays in exactly one place", () => {
  fc.assert(
    fc.property(fc.array(region, { maxLength: 6 }), fc.array(fc.integer({ min: 0, max: 60 })), (regions, pages) => {
      const heat = createHeat();
      for (const page of pages) heat.add(1, page);
      const parts = heat.split(regions);
      let next = 0;
      for (const whole of regions) {
        let at = whole.addr;
        while (at < whole.addr + BigInt(whole.size_bytes)) {
          const part = parts[next++];
          if (part === undefined) throw new Error("bytes are missing");
          expect({ pid: part.pid, addr: part.addr, of: wholeStratum(part.stratum) }).toEqual({
            pid: whole.pid,
            addr: at,
            of: whole.stratum,
          });
          const hot = part.stratum !== whole.stratum;
          const last = part.addr + BigInt(part.size_bytes) - 1n;
          for (let page = part.addr / PAGE; page <= last / PAGE; page++) {
            expect(whole.pid === 1 && pages.includes(Number(page))).toBe(hot);
          }
          at += BigInt(part.size_bytes);
        }
        expect(at).toBe(whole.addr + BigInt(whole.size_bytes));
      }
      expect(next).toBe(parts.length);
    }),
  );
});

test("a page is hot for the span in which a sample fell and the one after it", () => {
  const heat = createHeat();
  heat.turn(0n);
  heat.add(1, 7);
  heat.turn(SPAN_NS - 1n);
  expect(heat.pagesOf(1)).toEqual([7]);
  heat.turn(SPAN_NS);
  heat.add(1, 5);
  expect(heat.pagesOf(1)).toEqual([5, 7]);
  heat.turn(2n * SPAN_NS);
  expect(heat.pagesOf(1)).toEqual([5]);
  heat.turn(3n * SPAN_NS);
  expect(heat.pagesOf(1)).toEqual([]);
});

test("only so many pages are remembered, whatever falls", () => {
  const heat = createHeat();
  for (let page = 0; page < 100_000; page++) heat.add(1, page);
  expect(heat.pagesOf(1)).toHaveLength(2048);
  const big: DrawRegion = {
    pid: 1,
    addr: 0n,
    size_bytes: 4096 * 100_000,
    stratum: "activation",
    region_type: "activation",
    tensor: null,
  };
  expect(heat.split([big]).length).toBeLessThanOrEqual(2049);
});
