import { describe, expect, test } from "bun:test";
import type { DynamicSymbol } from "../../../../src/elf/dynamic-symbols.ts";
import { capturesOf } from "../../../../src/engine/llama-cpp/captures.ts";
import { NEWEST_KNOWN } from "../../../../src/engine/llama-cpp/offsets.ts";
import { hasOlderNames, PROBE, PROBE_POINTS, probesOf } from "../../../../src/engine/llama-cpp/probes.ts";

const CAPTURES = capturesOf(NEWEST_KNOWN);

describe("the probes of an object", () => {
  function objectWith(symbols: readonly Pick<DynamicSymbol, "name" | "type" | "fileOffset" | "isByGo">[]) {
    const known = new Map(symbols.map((symbol) => [symbol.name, { vaddr: 0, sizeBytes: 1, ...symbol }]));
    return { path: "/lib.so", soname: null, buildId: null, symbol: (name: string) => known.get(name) };
  }

  test("are at the file offsets of exact names, entry and return by the table", () => {
    const probes = probesOf(
      objectWith([
        { name: "llama_decode", type: "function", fileOffset: 0x1234 },
        { name: "llama_decode_and_more", type: "function", fileOffset: 0x9999 },
        { name: "llama_free", type: "function", fileOffset: 0x20 },
      ]),
    );
    expect(probes).toEqual([
      { symbol: "llama_decode", offset: 0x1234n, isReturn: true, probe: PROBE.decode, capture: CAPTURES.none },
      { symbol: "llama_decode", offset: 0x1234n, isReturn: false, probe: PROBE.decode, capture: CAPTURES.batch },
      { symbol: "llama_free", offset: 0x20n, isReturn: false, probe: PROBE.context_free, capture: CAPTURES.none },
    ]);
  });

  test("are none for data, for what has no bytes in the file, and for other libraries", () => {
    expect(probesOf(objectWith([{ name: "llama_decode", type: "object", fileOffset: 8 }]))).toEqual([]);
    expect(probesOf(objectWith([{ name: "llama_decode", type: "function", fileOffset: null }]))).toEqual([]);
    expect(probesOf(objectWith([{ name: "malloc", type: "function", fileOffset: 8 }]))).toEqual([]);
  });

  test("are of the scheduler only where a stripped program of Go tells of it", () => {
    const name = "ggml_backend_sched_graph_compute_async";
    const scheduler = { name, type: "function", fileOffset: 8 } as const;
    expect(probesOf(objectWith([scheduler]))).toEqual([]);
    expect(probesOf(objectWith([{ ...scheduler, isByGo: true }]))).toEqual([
      { symbol: name, offset: 8n, isReturn: true, probe: PROBE.scheduled, capture: CAPTURES.none },
      { symbol: name, offset: 8n, isReturn: false, probe: PROBE.scheduled, capture: CAPTURES.scheduledGraph },
    ]);
  });

  test("tell by a name that was there as long as rows were moved that its library may do so", () => {
    const named = (name: string) => objectWith([{ name, type: "function", fileOffset: 8 }]);
    const moving = ["llama_kv_self_clear", "llama_kv_cache_seq_rm"].map((name) => hasOlderNames(named(name)));
    // The last two are there still.
    const others = ["llama_decode", "llama_memory_seq_rm", "llama_set_state_data", "llama_load_session_file"];
    expect([moving, others.map((name) => hasOlderNames(named(name)))]).toEqual([
      [true, true],
      [false, false, false, false],
    ]);
  });

  test("name each function once", () => {
    expect(new Set(PROBE_POINTS.map(({ symbol }) => symbol)).size).toBe(PROBE_POINTS.length);
  });
});
