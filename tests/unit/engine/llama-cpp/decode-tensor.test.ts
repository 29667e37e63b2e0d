import { describe, expect, test } from "bun:test";
import {
  decodeBuffer,
  decodeFreshTensor,
  decodeTensor,
  tensorSpanBytes,
} from "../../../../src/engine/llama-cpp/decode-tensor.ts";
import { GGML_LAYOUT } from "../../../../src/engine/llama-cpp/offsets.ts";
import { bufferBytes, olderBufferBytes, type TensorFields, tensorBytes } from "../../../fixtures/ggml-structs.ts";

function decode(fields: TensorFields) {
  return decodeTensor(new DataView(tensorBytes(fields).buffer), GGML_LAYOUT);
}
function fresh(fields: TensorFields) {
  return decodeFreshTensor(new DataView(tensorBytes(fields).buffer), GGML_LAYOUT);
}

describe("a tensor from its bytes", () => {
  test("has name, type, shape and the bytes of a quantised matrix", () => {
    const decoded = decode({ name: "blk.0.attn_q.weight", type: 2, ne: [288, 288, 1, 1], nb: [18, 162, 46656, 46656] });
    expect(decoded).toMatchObject({
      ok: true,
      value: {
        name: "blk.0.attn_q.weight",
        type: { name: "q4_0" },
        ne: [288, 288, 1, 1],
        sizeBytes: (288 / 32) * 18 * 288,
      },
    });
  });

  test("spans its strides, not its elements, where it is not contiguous", () => {
    const f16 = { name: "f16", blockElements: 1, blockBytes: 2 };
    expect(tensorSpanBytes(f16, [64, 10, 1, 1], [2, 256, 2560, 2560])).toBe(64 * 2 + 9 * 256);
  });

  test("has no bytes where it has no elements, and is no tensor that is placed then", () => {
    expect(decode({ ne: [64, 0, 1, 1] })).toMatchObject({ ok: true, value: { ne: [64, 0, 1, 1], sizeBytes: 0 } });
    expect(fresh({ ne: [64, 0, 1, 1] })).toEqual({ ok: false, doubt: "empty" });
  });

  test("is doubted for its type, shape, strides, name and pointers", () => {
    expect(decode({ type: 4 })).toEqual({ ok: false, doubt: "type" });
    expect(decode({ type: 999 })).toEqual({ ok: false, doubt: "type" });
    expect(decode({ ne: [0, -1, 1, 1] })).toEqual({ ok: false, doubt: "shape" });
    expect(decode({ ne: [-4, 1, 1, 1] })).toEqual({ ok: false, doubt: "shape" });
    expect(decode({ type: 2, ne: [33, 1, 1, 1] })).toEqual({ ok: false, doubt: "shape" });
    expect(decode({ ne: [2 ** 30, 2 ** 30, 1, 1] })).toEqual({ ok: false, doubt: "shape" });
    expect(decode({ nb: [4, 2 ** 50, 16, 16] })).toEqual({ ok: false, doubt: "stride" });
    expect(decode({ name: "a\u0001b" })).toEqual({ ok: false, doubt: "name" });
    expect(decode({ name: "x".repeat(64) })).toEqual({ ok: false, doubt: "name" });
    expect(decode({ viewSrc: 1n << 60n })).toEqual({ ok: false, doubt: "pointer" });
    expect(decodeTensor(new DataView(new ArrayBuffer(335)), GGML_LAYOUT)).toEqual({ ok: false, doubt: "cut_short" });
  });

  test("is taken at allocation only without buffer, data and parent, and with the stride of its type", () => {
    expect(fresh({}).ok).toBe(true);
    expect(fresh({ data: 0x1000n })).toEqual({ ok: false, doubt: "pointer" });
    expect(fresh({ buffer: 0x1000n })).toEqual({ ok: false, doubt: "pointer" });
    expect(fresh({ viewSrc: 0x1000n })).toEqual({ ok: false, doubt: "pointer" });
    expect(fresh({ nb: [8, 32, 32, 32] })).toEqual({ ok: false, doubt: "stride" });
  });
});

describe("a buffer from its bytes", () => {
  test("has base, size and usage", () => {
    const view = new DataView(bufferBytes(0x7f0000000000n, 4096, 1).buffer);
    expect(decodeBuffer(view, GGML_LAYOUT)).toEqual({ context: 0x7f0000000000n, sizeBytes: 4096, usage: "weights" });
  });

  test("of an older build is told by its address, which cannot be where newer ones have it", () => {
    const view = new DataView(olderBufferBytes(0x7f0000000000n, 4096, 1).buffer);
    const older = { context: 0x7f0000000000n, sizeBytes: 4096, usage: "weights" } as const;
    expect(decodeBuffer(view, GGML_LAYOUT)).toEqual(older);
    const both = new DataView(bufferBytes(0x7f1100000000n, 8192).buffer);
    both.setBigUint64(80, 0x7f0000000000n, true);
    both.setBigUint64(88, 4096n, true);
    both.setBigUint64(96, 0x7f1100000001n, true);
    // Possible by both: the one that holds is meant, and the newest where none does.
    expect(decodeBuffer(both, GGML_LAYOUT, ({ sizeBytes }) => sizeBytes === 4096)).toEqual(older);
    expect(decodeBuffer(both, GGML_LAYOUT, () => false)?.sizeBytes).toBe(8192);
  });

  test("is doubted with a usage that ggml has not, or a size that no machine has", () => {
    expect(decodeBuffer(new DataView(bufferBytes(0x1000n, 1, 3).buffer), GGML_LAYOUT)).toBeNull();
    expect(decodeBuffer(new DataView(bufferBytes(0x1000n, 2 ** 50).buffer), GGML_LAYOUT)).toBeNull();
  });
});
