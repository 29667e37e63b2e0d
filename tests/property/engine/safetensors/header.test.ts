import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseSafetensors } from "../../../../src/engine/safetensors/header.ts";
import { safetensorsBytes, sourceOf } from "../../../fixtures/safetensors.ts";

/** What must hold of any header that is accepted, whatever the bytes. */
function expectSound(bytes: Uint8Array): void {
  const result = parseSafetensors(sourceOf(bytes));
  if (!result.ok) {
    expect(result.reason).not.toBe("");
    expect(result.offset).toBeWithin(0, bytes.length + 1);
    return;
  }
  const { tensors, dataOffset } = result.header;
  expect(new Set(tensors.map(({ name }) => name)).size).toBe(tensors.length);
  let reached = dataOffset;
  for (const { offset, bytes: size } of tensors.filter((tensor) => tensor.bytes !== 0)) {
    expect(offset).toBeGreaterThanOrEqual(reached);
    reached = offset + (size ?? 0);
  }
  expect(reached).toBeLessThanOrEqual(bytes.length);
}

const BITS = { F32: 32, BF16: 16, U8: 8, F4: 4, C64: 64 } as const;
const tensor = fc.record({
  type: fc.constantFrom(...(Object.keys(BITS) as (keyof typeof BITS)[])),
  // Whole bytes of every type.
  shape: fc.tuple(fc.nat(6), fc.nat(6)).map(([rows, pairs]) => [rows, 2 * pairs]),
});
const named = fc.dictionary(fc.stringMatching(/^[a-z0-9.]{1,12}$/), tensor, { maxKeys: 12 });

/** A header of tensors that lie one behind the other, and how many bytes they take. */
function headerOf(
  tensors: Readonly<Record<string, { readonly type: keyof typeof BITS; readonly shape: readonly number[] }>>,
) {
  let bytes = 0;
  const entries = Object.entries(tensors).map(([name, { type, shape }]) => {
    const begin = bytes;
    bytes += shape.reduce((product, length) => product * length, BITS[type] / 8);
    return [name, { dtype: type, shape, data_offsets: [begin, bytes] }] as const;
  });
  return { header: Object.fromEntries(entries), bytes };
}

test("every header that JSON can write is read back whole", () => {
  fc.assert(
    fc.property(named, fc.dictionary(fc.string(), fc.string()), fc.nat(3), (tensors, metadata, indent) => {
      const { header, bytes } = headerOf(tensors);
      const text = JSON.stringify({ __metadata__: metadata, ...header }, null, indent);
      const result = parseSafetensors(sourceOf(safetensorsBytes(text, bytes)));
      const read = result.ok
        ? result.header.tensors.map(({ name, offset, bytes: size }) => {
            const begin = offset - result.header.dataOffset;
            return [name, [begin, begin + (size ?? 0)]];
          })
        : result;
      const wanted = Object.entries(header).map(([name, { data_offsets }]) => [name, data_offsets]);
      const byName = (list: unknown) => (Array.isArray(list) ? list.sort() : list);
      expect(byName(read)).toEqual(byName(wanted));
    }),
    { numRuns: 300 },
  );
});

test("hostile bytes never throw, and what is accepted lies in the file, each byte in one tensor at most", () => {
  const { header, bytes } = headerOf({
    "a.0.w": { type: "F32", shape: [4, 2] },
    b: { type: "BF16", shape: [3, 2] },
    c: { type: "U8", shape: [0, 2] },
  });
  const whole = safetensorsBytes(header, bytes);
  const change = fc.tuple(fc.nat(whole.length - 1), fc.nat(255));
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 6 }), fc.nat(whole.length), (changes, length) => {
      const hostile = whole.slice(0, length === 0 ? whole.length : Math.max(length, whole.length - 40));
      for (const [at, value] of changes) if (at < hostile.length) hostile[at] = value;
      expectSound(hostile);
    }),
    { numRuns: 1000 },
  );
});

test("any JSON, and any text in the place of a header, is refused or sound", () => {
  fc.assert(
    fc.property(fc.oneof(fc.json(), fc.string(), fc.string({ unit: "binary" })), fc.nat(64), (text, bytes) =>
      expectSound(safetensorsBytes(text, bytes)),
    ),
    { numRuns: 500 },
  );
});
