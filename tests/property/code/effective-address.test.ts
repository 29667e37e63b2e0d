import { expect, test } from "bun:test";
import fc from "fast-check";
import { effectiveAddress } from "../../../src/code/effective-address.ts";
import { type MemoryOperand, operandAt } from "../../../src/code/memory-operand.ts";
import { PLACES, registerFile } from "../../../src/code/register-file.ts";
import { accessColumns } from "../../../src/collect/access-columns.ts";
import { TICK_LAYOUT } from "../../../src/collect/ebpf/clock/clock-program.ts";
import { createTickReader } from "../../../src/collect/ebpf/clock/tick-rows.ts";
import { BLOCK_ROWS } from "../../../src/schema/c-header.ts";

const word = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const register = fc.option(fc.record({ place: fc.nat(15), bits: fc.constantFrom(64, 32, 8) }));
const operand = fc
  .record({
    base: register,
    index: register,
    shift: fc.nat(3),
    displacement: word,
    segment: fc.constantFrom(-1, 17, 18),
  })
  .map(({ displacement, ...rest }) => ({
    ...rest,
    op: 0,
    displacementLow: Number(displacement & 0xffffffffn),
    displacementHigh: Number(displacement >> 32n),
    narrow: rest.base?.bits === 32 || rest.index?.bits === 32,
    displacement,
  }));

/** The same in 64-bit arithmetic, from the definition. */
function byDefinition(of: MemoryOperand & { readonly displacement: bigint }, values: readonly bigint[]): bigint {
  const value = (at: MemoryOperand["base"]) => (at === null ? 0n : BigInt.asUintN(at.bits, values[at.place] ?? 0n));
  const offset = value(of.base) + (value(of.index) << BigInt(of.shift)) + of.displacement;
  const base = of.segment < 0 ? 0n : (values[of.segment] ?? 0n);
  return BigInt.asUintN(64, BigInt.asUintN(of.narrow ? 32 : 64, offset) + base);
}

test("an address in 32-bit words is that of 64-bit arithmetic", () => {
  const values = fc.array(word, { minLength: PLACES, maxLength: PLACES });
  fc.assert(
    fc.property(operand, values, (of, registers) => {
      const file = registerFile();
      file.known = 2 ** PLACES - 1;
      for (const [place, value] of registers.entries()) {
        file.words[2 * place] = Number(value & 0xffffffffn);
        file.words[2 * place + 1] = Number(value >> 32n);
      }
      const out = new Uint32Array(2);
      expect(effectiveAddress(of, file, out)).toBe(true);
      expect((BigInt(out[1] ?? 0) << 32n) | BigInt(out[0] ?? 0)).toBe(byDefinition(of, registers));
    }),
    { numRuns: 1000 },
  );
});

test("any bytes of code are an access, none or unknown, and cost no more than that", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 20 }), (code) => {
      const found = operandAt(code);
      if (typeof found === "string") expect(["none", "unknown"]).toContain(found);
      else {
        expect([0, 1, 2]).toContain(found.op);
        for (const at of [found.base, found.index]) if (at !== null) expect(at.place).toBeLessThan(PLACES);
      }
    }),
    { numRuns: 1000 },
  );
});

test("blocks of any bytes give rows that are accesses or counted, and nothing is thrown", () => {
  const { blockBytes } = TICK_LAYOUT;
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 64, maxLength: 64 }), fc.nat(BLOCK_ROWS), fc.nat(), (noise, rows, seed) => {
      const bytes = new Uint8Array(new ArrayBuffer(blockBytes));
      for (let at = 0; at < blockBytes; at++) bytes[at] = (noise[at % 64] ?? 0) ^ (Math.imul(at, seed) >>> 13);
      const mov = operandAt(Uint8Array.of(0x48, 0x8b, 0x04, 0xc8));
      const find = (pid: number, ip: number) => (pid % 3 === 0 ? null : ip % 2 === 0 ? mov : "none");
      const reader = createTickReader({ find, forget() {} }, (pid) => (pid % 5 === 0 ? 2 ** 60 : undefined));
      const columns = accessColumns(16);
      let full = 0;
      reader.read({ bytes, pieces: 1, begin_bytes: [0], cpu: [1], from: [0], to: [rows] }, columns, () => {
        full += columns.rows;
        columns.rows = 0;
      });
      const { noAccess, noCode, noAddress } = reader.losses;
      expect(full + columns.rows + noAccess + noCode + noAddress).toBe(rows);
    }),
    { numRuns: 200 },
  );
});
