import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readableInterpreter } from "../../../../src/engine/cpython/interpreter.ts";
import type { NameAt, ReadMemory } from "../../../../src/engine/engine.ts";
import { namedWeights } from "../../../../src/engine/pytorch/named-weights.ts";
import { COPIED } from "../../../../src/engine/pytorch/tensor-impl.ts";
import { TORCH } from "../../../../src/engine/pytorch/torch-layout.ts";
import { addressOf, isReadable, PYTHONS, type WaitingPython, waitingPython } from "../../../fixtures/waiting-python.ts";

const PROGRAM = new URL("../../../fixtures/torch_modules.py", import.meta.url).pathname;
const S = 1_000_000_000n;
const NO_FILE: NameAt = () => null;

interface Said {
  readonly pid: number;
  readonly version: string;
  readonly data: readonly number[];
  /** Address of the outer module. */
  readonly model: number;
}

let program: WaitingPython<Said>;
let said: Said;
const read: ReadMemory = (address, length) => program.read(address, length);
const isKnown = (): boolean => isReadable(said);

/** Address at which the runtime keeps its first interpreter. */
function interpreterPlace(): bigint {
  const python = readableInterpreter(said.pid, addressOf, read);
  return "layout" in python ? python.runtime + BigInt(python.layout.interpreter) : 0n;
}

const at = (i: number): bigint => BigInt(said.data[i] ?? 0);
const weights = (nameAt = NO_FILE) => {
  const state = namedWeights(said.pid, nameAt, addressOf);
  // A pass begins before each.
  return { state, look: (now_ns: bigint) => state.look(read, () => now_ns, Number(now_ns)) };
};

describe.each(PYTHONS)("in Python %s,", (_, python3) => {
  beforeAll(async () => {
    program = await waitingPython(PROGRAM, python3);
    said = program.said;
  });
  afterAll(() => program.end());

  describe("weights that no file names", () => {
    test("have the names that the outermost module has for them, once one was used for a while", () => {
      if (!isKnown()) return;
      const { state, look } = weights();
      expect(look(0n)).toBeNull();
      state.want(at(0), 10n);
      expect(look(S / 4n)).toBeNull();
      expect(look(S)).toMatchObject({ tensors: 4, found: 4 });
      const { tensors, steps } = state.takeRows();
      const told = tensors.map(({ name, addr, size_bytes, evidence, kind }) => [
        name,
        addr,
        size_bytes,
        evidence,
        kind,
      ]);
      const rest = ["engine_objects", "graph"];
      expect(told.sort()).toEqual([
        ["embed_tokens.weight", at(0), 512n, ...rest],
        ["layers.0.weight", at(1), 128n, ...rest],
        ["layers.1.weight", at(2), 128n, ...rest],
        ["scale", at(3), 32n, ...rest],
      ]);
      expect(steps.map(({ detail }) => JSON.parse(detail ?? ""))).toEqual([{ weight_tensors: 4, weight_bytes: 800 }]);
      expect(state.live().map(({ layer, drawn }) => [layer, drawn])).toEqual([
        [null, true],
        [null, false],
        [0, true],
        [1, true],
      ]);
      expect([state.nameAt(at(1)), state.nameAt(at(1) + 1n), state.untold()]).toEqual(["layers.0.weight", null, []]);
      state.want(at(2), 2n * S);
      expect(look(3n * S)).toBeNull();
    });

    test("are left to the file that names them", () => {
      if (!isKnown()) return;
      const { state, look } = weights((_, addr) => (addr === at(0) ? { name: "embed" } : null));
      state.want(at(0), 0n);
      expect(look(S)).toBeNull();
      state.want(at(2), S);
      expect(look(2n * S)).toMatchObject({ tensors: 4, found: 3 });
      expect(state.nameAt(at(0))).toBeNull();
    });

    test("tell how many layers their model has, where that is asked, also where a file has their names", () => {
      if (!isKnown()) return;
      const file: NameAt = () => ({ name: "of a file" });
      const { state, look } = weights(file);
      expect(state.layersOf(at(0), 0n)).toBeNull();
      expect(look(S / 4n)).toBeNull();
      expect(look(S)).toMatchObject({ tensors: 4, found: 0 });
      expect([state.layersOf(at(0), 0n), state.live(), state.untold()]).toEqual([2, [], []]);
      // Another table lies there by now, whose model may have others.
      state.check(() => null, S);
      expect(state.layersOf(at(0), 0n)).toBeNull();
      look(2n * S);
      expect(state.layersOf(at(0), 0n)).toBe(2);
      // The module that holds this one has no numbers.
      expect(state.layersOf(at(4), 0n)).toBeNull();
      for (let i = 3n; i < 40n; i++) look(i * S);
      expect(state.layersOf(at(4), 0n)).toEqual({
        untold: expect.stringContaining("no thread of its process was seen in a method of a module"),
      });
      expect([state.layersOf(at(0), 0n), state.untold()]).toEqual([2, []]);
    });

    test("do not tell how many layers a model has where there is no Python, which is no want of names by itself", () => {
      const state = namedWeights(process.pid, NO_FILE, () => null);
      expect(state.layersOf(8n, 0n)).toBeNull();
      expect(state.look(read, () => S, 1)).toBeNull();
      for (const table of [8n, 9n])
        expect(state.layersOf(table, 0n)).toEqual({
          untold: expect.stringContaining("no Python interpreter was found"),
        });
      expect(state.untold()).toEqual([]);
      state.want(8n, S);
      expect(state.untold()).toHaveLength(1);
    });

    test("that no module holds have no name, and those that it holds have none for them", () => {
      if (!isKnown()) return;
      const { state, look } = weights();
      state.want(8n, 0n);
      expect(look(S)).toBeNull();
      expect(state.live()).toEqual([]);
      state.want(at(0), S);
      expect(look(3n * S)).toMatchObject({ found: 4 });
      // It is not looked for again.
      state.want(8n, 3n * S);
      expect(look(6n * S)).toBeNull();
      expect(state.untold()).toEqual([]);
    });

    test("of a model that no thread is in while those of another are named have theirs once one is", async () => {
      if (!isKnown()) return;
      const { state, look } = weights();
      state.want(at(0), 0n);
      state.want(at(4), 0n);
      expect(look(S)).toMatchObject({ found: 4 });
      program.tell("other\n");
      for (let answer = ""; !answer.includes("in another"); ) answer += await program.line();
      expect(look(2n * S)).toMatchObject({ found: 1 });
      expect(state.nameAt(at(4))).toBe("head");
      program.tell("\n");
      for (let answer = ""; !answer.includes("back"); ) answer += await program.line();
    });

    test("that no module holds are looked for no more after some looks, and those of another model still are", () => {
      if (!isKnown()) return;
      const { state, look } = weights();
      state.want(at(0), 0n);
      state.want(8n, 0n);
      let looks = 0;
      const place = interpreterPlace();
      const counted: ReadMemory = (address, length) => {
        if (address === place) looks += 1;
        return read(address, length);
      };
      for (let i = 1n; i < 70n; i++) state.look(counted, () => i * S, Number(i));
      // Each look reads the calls twice.
      expect([looks, state.untold(), look(70n * S)]).toEqual([2 * 32, [], null]);
      state.want(at(4), 70n * S);
      expect(look(71n * S)).toBeNull();
      expect([state.nameAt(at(0)), state.untold()]).toEqual(["embed_tokens.weight", []]);
    });

    test("are not named from what was read of a call without those around it", () => {
      if (!isKnown()) return;
      const state = namedWeights(said.pid, NO_FILE, addressOf);
      state.want(at(1), 0n);
      const place = interpreterPlace();
      let reads = 0;
      let isTorn = false;
      // The first look at the calls ends behind the inner one; the state of the interpreter is read once for each.
      const torn: ReadMemory = (address, length) => {
        if (address === place) reads += 1;
        const bytes = read(address, length);
        const isOuter =
          bytes !== null && length === 8 && reads === 1 && outer.has(new DataView(bytes.buffer).getBigUint64(0, true));
        isTorn ||= isOuter;
        return isOuter ? new Uint8Array(8) : bytes;
      };
      const outer = new Set([BigInt(said.model)]);
      expect(state.look(torn, () => S, 1)).toBeNull();
      expect(isTorn).toBe(true);
      reads = 0;
      outer.clear();
      expect(state.look(torn, () => 2n * S, 2)).toMatchObject({ found: 4 });
      expect(state.nameAt(at(1))).toBe("layers.0.weight");
    });

    test("have none where there is no Python, or no thread is in a method of a module, and why is said", () => {
      const none = namedWeights(process.pid, NO_FILE, () => null);
      none.want(8n, 0n);
      expect(none.look(read, () => S, 1)).toBeNull();
      expect(none.untold()[0]).toContain("no Python interpreter was found");
      if (!isKnown()) return;
      const nothing = namedWeights(said.pid, NO_FILE, addressOf);
      nothing.want(8n, 0n);
      const place = interpreterPlace();
      // The state of the interpreter reads as zero: no thread is anywhere.
      const blind: ReadMemory = (address, length) =>
        address === place ? new Uint8Array(length) : read(address, length);
      for (let i = 1n; nothing.untold().length === 0 && i < 70n; i++)
        expect(nothing.look(blind, () => i * S, Number(i))).toBeNull();
      expect(nothing.untold()[0]).toContain("no thread of its process was seen in a method of a module");
    });

    test("are looked for once a pass begins, and not while none does, as in a server that waits for requests", () => {
      if (!isKnown()) return;
      const state = namedWeights(said.pid, NO_FILE, addressOf);
      state.want(at(0), 0n);
      const place = interpreterPlace();
      // No thread is anywhere.
      const idle: ReadMemory = (address, length) =>
        address === place ? new Uint8Array(length) : read(address, length);
      for (let i = 1n; i < 70n; i++) expect(state.look(idle, () => i * S, 1)).toBeNull();
      expect(state.untold()).toEqual([]);
      expect(state.look(read, () => 70n * S, 2)).toMatchObject({ found: 4 });
    });

    test("end where another tensor has their storage, as one of the same size that came to lie where they were", () => {
      if (!isKnown()) return;
      const { state, look } = weights();
      state.want(at(0), 0n);
      look(S);
      state.takeRows();
      const types = TORCH.tensor.type - COPIED.tensor.from;
      // All tensors are of another type.
      const others: ReadMemory = (address, length) => {
        const bytes = read(address, length);
        if (bytes !== null && length === COPIED.tensor.bytes) bytes[types] = 0;
        return bytes;
      };
      state.look(others, () => 2n * S, 2);
      expect(state.takeRows().tensors.map(({ kind, timestamp_ns }) => [kind, timestamp_ns])).toEqual(
        Array.from({ length: 4 }, () => ["free", S]),
      );
    });

    test("end when they were last known to be there, and are looked for again where they are used", async () => {
      if (!isKnown()) return;
      const { state, look } = weights();
      state.want(at(0), 0n);
      look(S);
      state.takeRows();
      program.tell("\n");
      for (let answer = ""; !answer.includes("gone"); ) answer += await program.line();
      look(S + S / 2n);
      expect(state.takeRows().tensors).toEqual([]);
      look(2n * S);
      const gone = state.takeRows().tensors.map(({ kind, addr, timestamp_ns }) => [kind, addr, timestamp_ns]);
      expect(gone).toEqual([["free", at(0), S]]);
      state.want(at(0), 2n * S);
      expect(look(3n * S)).toMatchObject({ found: 1 });
    });
  });
});
