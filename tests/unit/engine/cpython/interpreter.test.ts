import { describe, expect, test } from "bun:test";
import { symbolAddresses } from "../../../../src/collect/ebpf/engine/symbol-address.ts";
import { readableInterpreter } from "../../../../src/engine/cpython/interpreter.ts";
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
