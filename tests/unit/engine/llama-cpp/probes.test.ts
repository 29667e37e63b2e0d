import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { DynamicSymbol } from "../../../../src/elf/dynamic-symbols.ts";
import { CAPTURE, cookieOf, llamaCpp, PROBE, PROBE_POINTS } from "../../../../src/engine/llama-cpp/probes.ts";
import { HEAD_BYTES, PART_BYTES } from "../../../../src/engine/llama-cpp/raw-record.ts";

const source = readFileSync(new URL("../../../../bpf/engine.bpf.c", import.meta.url), "utf8");

/** The number that the kernel program gives a name. */
function inKernel(name: string): number {
  const found = new RegExp(`(?:#define ${name} |\\b${name} = )(\\d+)`).exec(source);
  return Number(found?.[1] ?? Number.NaN);
}

describe("what the kernel program and the reader agree on", () => {
  test("are the numbers of what is copied", () => {
    for (const [name, number] of Object.entries(CAPTURE)) {
      expect([name, inKernel(`CAPTURE_${name.toUpperCase()}`)]).toEqual([name, number]);
    }
  });

  test("are the sizes of the parts", () => {
    for (const name of ["tensor", "buffer", "path", "batch", "params", "graph"] as const) {
      expect([name, inKernel(`${name.toUpperCase()}_BYTES`)]).toEqual([name, PART_BYTES[name]]);
    }
    expect(source).toContain(`_Static_assert(sizeof(struct engine_record) == ${HEAD_BYTES},`);
    expect(source).toContain(`_Static_assert(sizeof(struct batch_summary) == ${PART_BYTES.summary},`);
  });
});

describe("the probes of an object", () => {
  function objectWith(symbols: readonly Pick<DynamicSymbol, "name" | "type" | "fileOffset">[]) {
    const known = new Map(symbols.map((symbol) => [symbol.name, { vaddr: 0, sizeBytes: 1, ...symbol }]));
    return { path: "/lib.so", soname: null, buildId: null, dynamicSymbol: (name: string) => known.get(name) };
  }

  test("are at the file offsets of exact names, entry and return by the table", () => {
    const probes = llamaCpp.probesOf(
      objectWith([
        { name: "llama_decode", type: "function", fileOffset: 0x1234 },
        { name: "llama_decode_and_more", type: "function", fileOffset: 0x9999 },
        { name: "llama_free", type: "function", fileOffset: 0x20 },
      ]),
    );
    expect(probes).toEqual([
      { symbol: "llama_decode", offset: 0x1234n, isReturn: true, cookie: cookieOf(PROBE.decode, CAPTURE.none) },
      { symbol: "llama_decode", offset: 0x1234n, isReturn: false, cookie: cookieOf(PROBE.decode, CAPTURE.batch) },
      { symbol: "llama_free", offset: 0x20n, isReturn: false, cookie: cookieOf(PROBE.context_free, CAPTURE.none) },
    ]);
  });

  test("are none for data, for what has no bytes in the file, and for other libraries", () => {
    expect(llamaCpp.probesOf(objectWith([{ name: "llama_decode", type: "object", fileOffset: 8 }]))).toEqual([]);
    expect(llamaCpp.probesOf(objectWith([{ name: "llama_decode", type: "function", fileOffset: null }]))).toEqual([]);
    expect(llamaCpp.probesOf(objectWith([{ name: "malloc", type: "function", fileOffset: 8 }]))).toEqual([]);
  });

  test("name each function once", () => {
    expect(new Set(PROBE_POINTS.map(({ symbol }) => symbol)).size).toBe(PROBE_POINTS.length);
  });
});
