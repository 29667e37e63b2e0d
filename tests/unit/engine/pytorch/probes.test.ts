import { expect, test } from "bun:test";
import type { DynamicSymbol } from "../../../../src/elf/dynamic-symbols.ts";
import { PROBE, probesOf } from "../../../../src/engine/pytorch/probes.ts";

const EMBEDDING = "_ZN2at4_ops9embedding4callERKNS_6TensorES4_N3c106SymIntEbb";
const OLD_EMBEDDING = "_ZN2at4_ops9embedding4callERKNS_6TensorES4_lbb";
const ARGMAX = "_ZN2at4_ops6argmax4callERKNS_6TensorESt8optionalIlEb";

function objectWith(soname: string | null, names: readonly string[]) {
  const symbols = new Map<string, DynamicSymbol>(
    names.map((name, i) => [name, { name, type: "function", vaddr: 0, sizeBytes: 1, fileOffset: 16 * (i + 1) }]),
  );
  return { path: "/lib.so", soname, buildId: null, symbol: (name: string) => symbols.get(name) };
}

test("the library of PyTorch is probed at its operators, by the names that its age gives them", () => {
  for (const [soname, embedding] of [
    ["libtorch_cpu.so", EMBEDDING],
    ["libtorch_cpu.so.1.13", OLD_EMBEDDING],
  ] as const) {
    const probes = probesOf(objectWith(soname, [embedding, ARGMAX]));
    expect(probes.map(({ symbol, offset, probe, isReturn }) => [symbol, offset, probe, isReturn])).toEqual([
      [embedding, 16n, PROBE.embedding, false],
      [ARGMAX, 32n, PROBE.sample, false],
    ]);
  }
});

test("what has another name, or no lookup of embeddings, is not probed", () => {
  expect(probesOf(objectWith("libother.so", [EMBEDDING]))).toEqual([]);
  expect(probesOf(objectWith(null, [EMBEDDING]))).toEqual([]);
  expect(probesOf(objectWith("libtorch_cpu.so", [ARGMAX]))).toEqual([]);
});
