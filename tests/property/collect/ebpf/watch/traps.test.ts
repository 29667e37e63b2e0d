import { expect, test } from "bun:test";
import fc from "fast-check";
import { instructionsAtTrap } from "../../../../../src/code/instruction.ts";
import { seenAccesses } from "../../../../../src/collect/ebpf/watch/accesses.ts";
import { forEachTrap, type Trap } from "../../../../../src/collect/ebpf/watch/traps.ts";
import { BLOCK_ROWS, ringLayout } from "../../../../../src/schema/c-header.ts";

const layout = ringLayout("trap");

test("rows of any bytes give as many traps, and never an error", () => {
  fc.assert(
    fc.property(fc.integer(), fc.nat(2), fc.nat(BLOCK_ROWS), fc.nat(BLOCK_ROWS), (seed, pieces, one, other) => {
      const bytes = new Uint8Array(new ArrayBuffer(3 * layout.blockBytes));
      let x = seed | 1;
      const words = new Uint32Array(bytes.buffer);
      for (let i = 0; i < words.length; i++) {
        x = Math.imul(x, 1664525) + 1013904223;
        words[i] = x;
      }
      const traps: Trap[] = [];
      const [from, to] = [Math.min(one, other), Math.max(one, other)];
      const rows = {
        bytes,
        pieces,
        begin_bytes: [2 * layout.blockBytes, 0],
        cpu: [0, 1],
        from: [from, from],
        to: [to, to],
      };
      forEachTrap(rows, layout, (_, trap) => traps.push(trap));
      expect(traps.length).toBe(pieces * (to - from));
    }),
    { numRuns: 60 },
  );
});

test("any bytes as code give an answer for any trap, and never an error", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.integer({ min: -20, max: 300 }), (code, at) => {
      const { before, repeatedAt } = instructionsAtTrap(code, at);
      if (at < 0 || at > code.length) expect([before, repeatedAt]).toEqual([null, null]);
    }),
    { numRuns: 2000 },
  );
});

test("no trap is lost or made twice between reading and judging", () => {
  const trap = fc.record({
    timeNs: fc.bigInt({ min: 0n, max: 2_000_000n }),
    ip: fc.bigInt({ min: 100n, max: 130n }),
    registerSi: fc.bigInt({ min: 990n, max: 1010n }),
    registerDi: fc.bigInt({ min: 990n, max: 1010n }),
    tid: fc.integer({ min: 1, max: 3 }),
    cpu: fc.integer({ min: 0, max: 1 }),
    role: fc.constantFrom(1, 2),
    inKernel: fc.boolean(),
  });
  const decoded = fc.record({
    op: fc.constantFrom("load", "store", "load_store", "unknown"),
    evidence: fc.constantFrom("decoded", "registers", "none"),
    repeated: fc.boolean(),
  });
  const watched = { pid: 1, addr: 1000n, sizeBytes: 8, mode: "pair", beginNs: 100_000n, endNs: 1_900_000n } as const;
  fc.assert(
    fc.property(
      fc.array(trap, { maxLength: 80 }),
      fc.array(decoded, { minLength: 1, maxLength: 5 }),
      (traps, answers) => {
        let asked = 0;
        const seen = seenAccesses(traps, watched, () => answers[asked++ % answers.length] ?? (answers[0] as never));
        expect(seen.accesses.length + seen.collapsed).toBe(seen.traps);
        expect(seen.traps + seen.outside + seen.twins + seen.unpaired).toBe(traps.length);
        expect(seen.agreed).toBeLessThanOrEqual(seen.compared);
        const times = seen.accesses.map((one) => one.trap.timeNs);
        expect(times.every((time, i) => i === 0 || time >= (times[i - 1] ?? 0n))).toBe(true);
      },
    ),
    { numRuns: 500 },
  );
});
