import { expect, test } from "bun:test";
import type { EngineObject } from "../../../../src/engine/engine.ts";
import { PROBE, probesOf, SYMBOLS } from "../../../../src/engine/vllm/probes.ts";

const isCaller = (name: string): boolean => name.includes("functor");

/** An object with all functions of which that holds, each at another place. */
function objectWith(has: (name: string) => boolean): EngineObject {
  const places = new Map<string, number>();
  const placeOf = (name: string): number => {
    places.set(name, places.get(name) ?? 64 * (places.size + 1));
    return places.get(name) ?? 0;
  };
  return {
    path: "_C.abi3.so",
    soname: null,
    buildId: null,
    symbol: (name) => (has(name) ? ({ type: "function", fileOffset: placeOf(name) } as never) : undefined),
  };
}

const attentionOf = (object: EngineObject) => probesOf(object).filter(({ probe }) => probe === PROBE.attention);

test.skipIf(process.arch !== "x64")("the return of attention is seen at the functions that call it", () => {
  const found = attentionOf(objectWith(() => true));
  const [entry, ...others] = found.filter(({ isReturn }) => !isReturn);
  const returns = found.filter(({ isReturn }) => isReturn);
  expect([entry?.symbol.includes("cpu_attention_with_kv_cache"), others]).toEqual([true, []]);
  expect(returns.map(({ symbol }) => isCaller(symbol))).toEqual([true, true]);
  expect(new Set(found.map(({ offset }) => offset)).size).toBe(3);
});

test.skipIf(process.arch !== "x64")("and at attention itself in a build that lacks one of them", () => {
  for (const has of [(name: string) => !isCaller(name), (name: string) => !name.includes("make_boxed")]) {
    const found = attentionOf(objectWith(has));
    expect(found.map(({ isReturn }) => isReturn).sort()).toEqual([false, true]);
    expect(new Set(found.map(({ offset }) => offset)).size).toBe(1);
  }
});

test.skipIf(process.arch !== "x64")("nothing is probed without all of them, and callers alone are no vLLM", () => {
  for (const name of SYMBOLS) expect(probesOf(objectWith((other) => other !== name))).toEqual([]);
  expect(SYMBOLS.some(isCaller)).toBe(false);
});
