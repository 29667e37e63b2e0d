import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { tensorBytes as contiguousBytes, TENSOR_TYPES } from "../../../../src/engine/gguf/tensor-type.ts";
import { capturesOf } from "../../../../src/engine/llama-cpp/captures.ts";
import { decodeBatch, decodeContextParams, decodePath } from "../../../../src/engine/llama-cpp/decode-step.ts";
import { decodeBuffer, decodeTensor, tensorSpanBytes } from "../../../../src/engine/llama-cpp/decode-tensor.ts";
import { graphMemory, readGraph } from "../../../../src/engine/llama-cpp/graph-reader.ts";
import { chooseLayout } from "../../../../src/engine/llama-cpp/layout-choice.ts";
import { GGML_LAYOUT, NEWEST_KNOWN } from "../../../../src/engine/llama-cpp/offsets.ts";
import { PROBE, PROBE_POINTS } from "../../../../src/engine/llama-cpp/probes.ts";
import { processState } from "../../../../src/engine/llama-cpp/process-state.ts";
import { rawRecord, tensorBytes } from "../../../fixtures/ggml-structs.ts";

const BUILD = { soname: "libllama.v0.5.0.so", buildId: null };
const CHOICE = chooseLayout(BUILD);
const CAPTURES = capturesOf(NEWEST_KNOWN);
const LIMIT_BYTES = 2 ** 46;

/** Bytes as they are, or a true structure with some bytes overwritten: pure noise rarely gets past the first check. */
function bytesLike(template: Uint8Array) {
  const spoiled = fc.array(fc.tuple(fc.nat(template.length - 1), fc.nat(255)), { maxLength: 12 }).map((edits) => {
    const bytes = template.slice();
    for (const [at, value] of edits) bytes[at] = value;
    return bytes;
  });
  return fc.oneof(spoiled, fc.uint8Array({ maxLength: template.length + 8 }));
}
function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.slice().buffer);
}

describe("hostile bytes", () => {
  test("never make a tensor that is larger than memory, nameless junk, or outside user space", () => {
    const template = tensorBytes({ name: "blk.1.ffn_up.weight", type: 8, ne: [64, 9, 1, 1], nb: [34, 68, 612, 612] });
    fc.assert(
      fc.property(bytesLike(template), (bytes) => {
        const decoded = decodeTensor(viewOf(bytes), GGML_LAYOUT);
        if (!decoded.ok) return;
        const { name, sizeBytes, ne, src, data, buffer, viewSrc } = decoded.value;
        expect(Number.isSafeInteger(sizeBytes) && sizeBytes >= 0 && sizeBytes <= LIMIT_BYTES).toBe(true);
        expect(ne.every((n) => Number.isSafeInteger(n) && n >= 0)).toBe(true);
        // A batch without outputs has tensors without elements, and no other has no bytes.
        expect(sizeBytes === 0).toBe(ne.includes(0));
        expect(name.length).toBeLessThan(64);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be in a name
        expect(name).not.toMatch(/[\u0000-\u001f\u007f]/);
        expect([data, buffer, viewSrc, ...src].every((pointer) => pointer < 1n << 56n)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  test("never make a buffer, a batch, parameters or a path that cannot be", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3200, size: "max" }), fc.nat(3), (bytes, unreadable) => {
        const view = viewOf(bytes);
        const buffer = decodeBuffer(view, GGML_LAYOUT);
        if (buffer) expect(buffer.sizeBytes >= 0 && buffer.sizeBytes <= LIMIT_BYTES).toBe(true);
        const batch = decodeBatch(view, unreadable);
        if (batch) {
          expect(batch.n_tokens).toBeGreaterThanOrEqual(0);
          const held = batch.runs?.reduce((sum, { tokens }) => sum + tokens, 0) ?? batch.n_tokens;
          expect(held).toBe(batch.n_tokens);
          for (const { sequences, position } of batch.runs ?? []) {
            expect(sequences.length > 0 && sequences.every((id) => id >= 0)).toBe(true);
            expect(position === null || position >= 0).toBe(true);
          }
        }
        if (CHOICE.params) decodeContextParams(view, CHOICE.params);
        const path = decodePath(view, unreadable);
        expect(path === null || path.length > 0).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  test("in the parts of a record give an outcome and rows, never an error", () => {
    const hits = PROBE_POINTS.flatMap(({ probe, entry, ret }) => [
      ...(entry === null ? [] : [{ probe, isReturn: false, plan: CAPTURES[entry] }]),
      ...(ret === null ? [] : [{ probe, isReturn: true, plan: CAPTURES[ret] }]),
    ]);
    const one = fc.record({
      hit: fc.constantFrom(...hits),
      unreadable: fc.nat(3),
      args: fc.array(fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }), { maxLength: 4 }),
      noise: fc.uint8Array({ minLength: 1024, maxLength: 1024 }),
    });
    expect(new Set(hits.map(({ probe }) => probe))).toEqual(new Set(Object.values(PROBE)));
    expect(new Set(hits.map(({ plan }) => plan))).toEqual(new Set(Object.values(CAPTURES)));
    fc.assert(
      fc.property(fc.array(one, { maxLength: 12 }), (records) => {
        const state = processState(7, [BUILD]);
        for (const { hit, noise, ...fields } of records) {
          const payload = noise.subarray(0, hit.plan.bytes);
          expect(typeof state.take(rawRecord({ ...fields, ...hit, payload }))).toBe("string");
        }
        state.flush();
        const { tensors, steps } = state.takeRows();
        for (const row of [...tensors, ...steps]) expect(row.pid).toBe(7);
      }),
      { numRuns: 300 },
    );
  });

  test("in a target's memory end the walk of a graph within its bounds", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 512, maxLength: 4096 }), fc.boolean(), (noise, likely) => {
        let reads = 0;
        const read = (at: bigint, length: number) => {
          reads += 1;
          const bytes = new Uint8Array(length);
          for (let i = 0; i < length; i++) bytes[i] = noise[(Number(at % 4093n) + i) % noise.length] ?? 0;
          return bytes;
        };
        const head = new DataView(noise.slice(0, 64).buffer);
        // A likely graph: few nodes, so that the walk begins.
        if (likely) head.setInt32(4, 50, true);
        const reading = readGraph(head, graphMemory(read), GGML_LAYOUT);
        expect(reading.nodes).toBeLessThanOrEqual(100_000);
        expect(reads).toBeLessThan(100_000);
      }),
      { numRuns: 100 },
    );
  });
});

test("a contiguous tensor spans as many bytes as its file says", () => {
  const type = fc.constantFrom(...TENSOR_TYPES.values());
  fc.assert(
    fc.property(type, fc.tuple(fc.integer({ min: 1, max: 64 }), fc.nat(40), fc.nat(8), fc.nat(4)), (kind, shape) => {
      const ne = [shape[0] * kind.blockElements, shape[1] + 1, shape[2] + 1, shape[3] + 1];
      const nb = [kind.blockBytes, shape[0] * kind.blockBytes];
      for (let i = 2; i < 4; i++) nb.push((nb[i - 1] ?? 0) * (ne[i - 1] ?? 1));
      expect(tensorSpanBytes(kind, ne, nb)).toBe(contiguousBytes(kind, ne));
    }),
  );
});
