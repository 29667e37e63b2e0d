import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { type ElfFile, readElf } from "../../../src/elf/elf.ts";
import { compileDebugged } from "../../fixtures/with-debug-data.ts";

const NAMES = ["layout", "within", "shade", "only_declared"];
/** Bytes of the longest name that is read. */
const LONGEST = 256;

/** Small programs, most of whose bytes are debugging data. */
const PROGRAMS = [["-gdwarf-4"], ["-gdwarf-5"], ["-gdwarf-5", "-gz=zlib"]].map(
  (flags) => new Uint8Array(readFileSync(compileDebugged("layouts", "cc", ...flags))),
);
const number = fc.nat(PROGRAMS.length - 1);
const copyOf = (index: number) => (PROGRAMS[index] ?? new Uint8Array(0)).slice();

/** Asks for all; whatever is told lies within bounds. */
function ask(bytes: Uint8Array): void {
  const elf = readElf(bytes);
  if (!elf.ok) return;
  const found: ReturnType<ElfFile["definitions"]> = elf.definitions(NAMES);
  if (!found.ok) {
    expect(found.reason.length).toBeGreaterThan(0);
    return;
  }
  for (const [name, { members }] of found.structures) {
    expect(NAMES).toContain(name);
    for (const member of members.keys()) expect(member.length).toBeLessThanOrEqual(LONGEST);
  }
}

test("debugging data with any bytes changed is read within bounds, or refused with a reason", () => {
  const change = fc.tuple(fc.nat(), fc.nat(255));
  fc.assert(
    fc.property(number, fc.array(change, { minLength: 1, maxLength: 60 }), (index, changes) => {
      const bytes = copyOf(index);
      for (const [place, value] of changes) bytes[place % bytes.length] = value;
      ask(bytes);
    }),
    { numRuns: 400 },
  );
});

test("debugging data whose numbers are extreme is not read for long", () => {
  const word = fc.constantFrom(0, 1, 0x7f, 0x80808080, 0x7fffffff, 0xffffffff, 0xfffffff0);
  fc.assert(
    fc.property(number, fc.array(fc.tuple(fc.nat(), word), { minLength: 1, maxLength: 12 }), (index, words) => {
      const bytes = copyOf(index);
      const view = new DataView(bytes.buffer);
      for (const [place, value] of words) view.setUint32(place % (bytes.length - 4), value, true);
      ask(bytes);
    }),
    { numRuns: 400 },
  );
});

test("debugging data that is cut short anywhere is refused or told in part", () => {
  fc.assert(
    fc.property(number, fc.nat(), (index, end) => ask(copyOf(index).subarray(0, end % copyOf(index).length))),
    { numRuns: 200 },
  );
});
