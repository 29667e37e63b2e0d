import { describe, expect, test } from "bun:test";
import { symbolAddresses } from "../../../../src/collect/ebpf/engine/symbol-address.ts";
import { readableInterpreter } from "../../../../src/engine/cpython/interpreter.ts";
import { OFFSET_WORDS, pythonLayout, tellsPlaces, withToldPlaces } from "../../../../src/engine/cpython/layout.ts";
import type { AddressOf, ReadMemory } from "../../../../src/engine/engine.ts";
import { UNCOUNTED } from "../../../../src/kernel/looks.ts";

const RUNTIME = 0x1000n;
const VERSION = 0x2000n;
const symbols: AddressOf = (_pid, _object, symbol) => (symbol === "_PyRuntime" ? RUNTIME : VERSION);
const memory: ReadMemory = () => new Uint8Array([0xf0, 7, 11, 3]);
const gone: ReadMemory = () => null;

describe("the Python of a process", () => {
  test("can be read where the build says a version whose objects are known", () => {
    expect(readableInterpreter(1, symbols, memory)).toMatchObject({ runtime: RUNTIME });
  });

  test("cannot be read where its version is not known, or the program has none, and why is said", () => {
    const later: ReadMemory = () => new Uint8Array([0xf0, 0, 99, 3]);
    const earlier: AddressOf = (_pid, _object, symbol) => (symbol === "_PyRuntime" ? RUNTIME : null);
    expect(readableInterpreter(1, symbols, later)).toEqual({
      untold: "where the objects of Python 3.99 lie is not known",
    });
    expect(readableInterpreter(1, earlier, memory)).toEqual({
      untold: "where the objects of Python before 3.11 lie is not known",
    });
    expect(readableInterpreter(1, () => null, memory)).toMatchObject({
      untold: expect.stringContaining("no Python interpreter"),
    });
  });

  test("says nothing of itself where the process ends while it is looked at", async () => {
    expect(readableInterpreter(1, symbols, gone)).toEqual({ untold: null });
    const child = Bun.spawn(["true"]);
    await child.exited;
    expect(readableInterpreter(child.pid, symbolAddresses(UNCOUNTED), gone)).toEqual({ untold: null });
  });
});

describe("a Python that says where its threads and frames are", () => {
  const layout = pythonLayout("3.13");
  /** The first words of its runtime. */
  const told = (free_threaded: bigint, cookie = "xdebugpy"): BigUint64Array => {
    const words = BigUint64Array.from({ length: OFFSET_WORDS }, (_, i) => BigInt(8 * i));
    words[0] = new DataView(new TextEncoder().encode(cookie).buffer).getBigUint64(0, true);
    words[2] = free_threaded;
    return words;
  };

  test("is believed, as releases of one version have them elsewhere", () => {
    if (layout === null) throw new Error("the layout is missing");
    expect(withToldPlaces(layout, told(0n))).toEqual({
      ...layout,
      ...{ interpreter: 40, thread: 72, nextThread: 168, newestFrame: [184], olderFrame: 232, locals: 256 },
    });
  });

  test("is not read where it says nothing, or has no lock around its objects, which lie otherwise then", () => {
    if (layout === null) throw new Error("the layout is missing");
    expect(withToldPlaces(layout, told(1n))).toBeNull();
    expect(withToldPlaces(layout, told(0n, "nothing!"))).toBeNull();
    expect(withToldPlaces(layout, told(0n).fill(2n ** 40n, 5, 6))).toBeNull();
    expect(tellsPlaces("3.12")).toBe(false);
  });
});
