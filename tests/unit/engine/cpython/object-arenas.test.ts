import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { pythonInterpreter } from "../../../../src/engine/cpython/interpreter.ts";
import { ARENA_BYTES, type ObjectArenas, objectArenas } from "../../../../src/engine/cpython/object-arenas.ts";
import { addressOf, type WaitingPython, waitingPython } from "../../../fixtures/waiting-python.ts";

interface Said {
  readonly pid: number;
  readonly version: string;
  readonly places: readonly number[];
  readonly arenas: number;
}

let program: WaitingPython<Said>;
let arenas: ObjectArenas;
beforeAll(async () => {
  program = await waitingPython(new URL("../../../fixtures/small_objects.py", import.meta.url).pathname);
  const { said, read } = program;
  arenas = objectArenas(read, pythonInterpreter(said.pid, addressOf, read)?.runtime ?? 0n);
});
afterAll(() => program.end());

/** How many of these lie in an arena. */
const inside = (found: ReadonlySet<bigint> | null, places: readonly number[]): number =>
  places.filter((place) => [...(found ?? [])].some((addr) => place >= addr && place < Number(addr) + ARENA_BYTES))
    .length;

describe("the arenas of Python's objects", () => {
  test("are as many as its allocator has, and hold its small objects", () => {
    expect(arenas.now()).toBeNull();
    while (arenas.search());
    const found = arenas.now();
    expect(found?.size).toBe(program.said.arenas);
    expect(inside(found, program.said.places)).toBe(program.said.places.length);
  });

  test("that come later are found too, where the table has moved", async () => {
    program.tell("more\n");
    let text = "";
    while (!text.includes("}")) text += await program.line();
    const said = JSON.parse(text) as Said;
    expect(said.arenas).toBeGreaterThan(32);
    const found = arenas.now();
    expect(found?.size).toBe(said.arenas);
    expect(inside(found, said.places)).toBe(said.places.length);
  });

  test("are none where nothing can be read, or nothing there is such a table", () => {
    const nothing = objectArenas(() => null, 0x5000_0000n);
    while (nothing.search());
    expect(nothing.now()).toBeNull();
    const other = objectArenas((_, length) => new Uint8Array(length).fill(16), 0x5000_0000n);
    while (other.search());
    expect(other.now()).toBeNull();
  });
});
