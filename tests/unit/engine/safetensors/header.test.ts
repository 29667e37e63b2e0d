import { describe, expect, test } from "bun:test";
import { MAX_HEADER_BYTES, parseSafetensors } from "../../../../src/engine/safetensors/header.ts";
import { safetensorsBytes, sourceOf } from "../../../fixtures/safetensors.ts";

/** Tensors of a header, or why there are none. */
function read(header: string | Uint8Array | object, dataBytes = 64) {
  const result = parseSafetensors(sourceOf(safetensorsBytes(header, dataBytes)));
  return result.ok ? result.header : result.reason;
}

const one = (fields: object) => ({ a: { dtype: "F32", shape: [4], data_offsets: [0, 16], ...fields } });

test("a header names every tensor with its type, its shape, fastest first, and its bytes in the file", () => {
  const header = {
    __metadata__: { format: "pt", note: 'a "quoted" \u00e9' },
    "model.layers.1.w": { data_offsets: [16, 28], dtype: "BF16", shape: [2, 3] },
    "model.embed.weight": { dtype: "F32", shape: [2, 2], data_offsets: [0, 16] },
    scalar: { dtype: "I64", shape: [], data_offsets: [28, 36] },
    empty: { dtype: "F32", shape: [0, 3], data_offsets: [36, 36] },
    small: { dtype: "F4", shape: [8], data_offsets: [36, 40] },
  };
  const start = 8 + JSON.stringify(header).length;
  const { tensors, dataOffset } = read(header) as Exclude<ReturnType<typeof read>, string>;
  // One character of the metadata has two bytes.
  expect(dataOffset).toBe(start + 1);
  expect(
    tensors.map(({ name, type, shape, offset, bytes }) => [name, type, shape, offset - dataOffset, bytes]),
  ).toEqual([
    ["model.embed.weight", "f32", [2, 2], 0, 16],
    ["model.layers.1.w", "bf16", [3, 2], 16, 12],
    ["scalar", "i64", [], 28, 8],
    ["empty", "f32", [3, 0], 36, 0],
    ["small", "f4", [8], 36, 4],
  ]);
});

test("blanks around words and behind the end are allowed, as writers align their data with them", () => {
  const text = ' { "a" : { "dtype" : "U8" , "shape" : [ 2 , 2 ] , "data_offsets" : [ 0 , 4 ] } } \n   ';
  expect(read(text)).toMatchObject({ tensors: [{ name: "a", type: "u8", bytes: 4 }] });
  expect(read("{}")).toMatchObject({ tensors: [] });
});

test("a type that is not known has the bytes that its offsets say", () => {
  expect(read(one({ dtype: "F2_NEW", data_offsets: [0, 3] }))).toMatchObject({
    tensors: [{ type: "f2_new", bytes: 3 }],
  });
});

describe("a header is refused", () => {
  test.each([
    ["whose tensor ends behind the file", one({ shape: [40], data_offsets: [0, 160] }), "truncated"],
    ["whose tensor has other bytes than its shape", one({ shape: [5] }), "do not fit"],
    ["whose tensor ends before it begins", one({ data_offsets: [16, 0] }), "do not fit"],
    ["whose shape has more elements than can be counted", one({ shape: [2 ** 30, 2 ** 30, 2 ** 30] }), "do not fit"],
    ["with a negative offset", one({ data_offsets: [-4, 12] }), "a count wanted"],
    ["with a broken offset", one({ data_offsets: [0.5, 16] }), "a count wanted"],
    ["with three offsets", one({ data_offsets: [0, 16, 32] }), "more than 2 numbers"],
    ["with one offset", one({ data_offsets: [16] }), "not all there"],
    ["without a shape", { a: { dtype: "F32", data_offsets: [0, 16] } }, "not all there"],
    ["with a word that nobody knows", one({ extra: 1 }), '"extra", which is not known'],
    ["with a type that is no word", one({ dtype: "F32\u001b[2J" }), "do not fit"],
    [
      "with a name that steers a terminal",
      { "a\u001b[2J": { dtype: "F32", shape: [4], data_offsets: [0, 16] } },
      "printed",
    ],
    ["with half a character as name", '{"\\ud800":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}', "printed"],
    ["that says a tensor twice", '{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{}}', '"a" stands twice'],
    ["that says a shape twice", '{"a":{"shape":[1],"shape":[1]}}', "or twice"],
    ["that is a list", "[]", "{ wanted"],
    ["that nests", `{"a":${"[".repeat(100_000)}`, "{ wanted"],
    ["that nests in its metadata", `{"__metadata__":{"a":${"{".repeat(100_000)}`, "a string of at most"],
    ["that does not end", '{"a":{"dtype":"U8"', "} wanted"],
    ["with something behind its end", "{}{}", "something behind the end"],
    ["that is empty", "", "{ wanted"],
    ["that is not UTF-8", new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d]), "not UTF-8"],
    ["that begins with a mark of the order of bytes", "\ufeff{}", "{ wanted"],
    ["with a name of thousands of characters", { ["a".repeat(2000)]: {} }, "at most 1024"],
  ])("%s", (_, header, reason) => {
    expect(read(header)).toEqual(expect.stringContaining(reason));
  });

  test("where two tensors share bytes", () => {
    const tensor = (begin: number) => ({ dtype: "U8", shape: [8], data_offsets: [begin, begin + 8] });
    expect(read({ a: tensor(0), b: tensor(7) })).toBe('tensor "b" shares bytes with another');
    expect(read({ a: tensor(0), b: tensor(8) })).toMatchObject({ tensors: [{ name: "a" }, { name: "b" }] });
  });

  test("that is longer than the file, or than any that is known", () => {
    const bytes = safetensorsBytes("{}", 0);
    const view = new DataView(bytes.buffer);
    view.setBigUint64(0, 3n, true);
    expect(parseSafetensors(sourceOf(bytes))).toMatchObject({ ok: false, reason: "a header of 3 bytes, 2 are there" });
    view.setBigUint64(0, 2n ** 63n, true);
    expect(parseSafetensors(sourceOf(bytes))).toMatchObject({
      ok: false,
      reason: `a header of ${2n ** 63n} bytes, ${MAX_HEADER_BYTES} are read`,
    });
    expect(parseSafetensors(sourceOf(bytes.subarray(0, 7)))).toMatchObject({ ok: false, offset: 0 });
  });
});
