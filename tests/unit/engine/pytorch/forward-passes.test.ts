import { describe, expect, test } from "bun:test";
import { forwardPasses } from "../../../../src/engine/pytorch/forward-passes.ts";
import { DIMENSION, PROBE } from "../../../../src/engine/pytorch/probes.ts";
import { mixesTokens } from "../../../../src/schema/step-detail.ts";
import { rawRecord } from "../../../fixtures/ggml-structs.ts";
import { appendBytes } from "../../../fixtures/torch-appends.ts";
import { lookupBytes, type TensorFields, weightBytes } from "../../../fixtures/torch-structs.ts";
import { storageBytes, writeBytes } from "../../../fixtures/torch-writes.ts";
import { addressOf, isReadable, waitingPython } from "../../../fixtures/waiting-python.ts";

const S = 1_000_000_000n;
const [WORDS, PLACES] = [0x7f00_0000_0000n, 0x7f10_0000_0000n];

function process(names: ReadonlyMap<bigint, string> = new Map()) {
  const state = forwardPasses(7, (_, addr) => (names.has(addr) ? { name: names.get(addr) ?? null } : null));
  return {
    state,
    lookup(time: bigint, data: bigint, sizes: readonly number[], table: TensorFields = { sizes: [1000, 64] }, tid = 8) {
      const payload = lookupBytes({ data, table, indices: { sizes } });
      return state.take(rawRecord({ probe: PROBE.embedding, time, tid, payload }));
    },
    draw: (time: bigint, tid = 8) => state.take(rawRecord({ probe: PROBE.sample, time, tid })),
    /** Begin, end, tokens and sequences of each. */
    passes: () => state.takeRows().steps.map((row) => [row.timestamp_ns, row.end_ns, row.n_tokens, row.n_sequences]),
  };
}

describe("a forward pass", () => {
  test("lasts from its lookup to the last token drawn from it, and is told of with the next", () => {
    const { state, lookup, draw, passes } = process();
    expect(lookup(10n, WORDS, [1, 16])).toBe("kept");
    draw(15n);
    expect(draw(20n)).toBe("kept");
    expect(passes()).toEqual([]);
    lookup(30n, WORDS, [1, 1]);
    draw(35n);
    lookup(40n, WORDS, [2, 1]);
    expect(passes()).toEqual([
      [10n, 20n, 16, 1],
      [30n, 35n, 1, 1],
    ]);
    expect(state.tokenPeriodsNs()).toEqual([10]);
  });

  test("does not last to what a program draws long after it, but to the last of its layers that draw", () => {
    const { state, lookup, draw, passes } = process();
    lookup(10n, WORDS, [1, 1]);
    draw(20n);
    draw(5n * S);
    lookup(6n * S, WORDS, [1, 9]);
    // Of a long prompt, layers of which choose their experts so.
    for (const time of [8n, 10n, 12n]) draw(time * S);
    state.flush();
    expect(passes().map(([begin, end]) => [begin, end])).toEqual([
      [10n, 20n],
      [6n * S, 12n * S],
    ]);
  });

  test("has the second table that it looks up before a token is drawn", () => {
    const { state, lookup, draw, passes } = process();
    for (const time of [10n, 30n]) {
      lookup(time, WORDS, [1, 4]);
      lookup(time + 1n, PLACES, [1, 4]);
      draw(time + 5n);
    }
    state.flush();
    expect(passes()).toEqual([
      [10n, 15n, 4, 1],
      [30n, 35n, 4, 1],
    ]);
  });

  test("begins with the table of tokens by its name, in whatever order, of each of two models", () => {
    const other = 0x7f20_0000_0000n;
    const names = [
      [WORDS, "transformer.wte.weight"],
      [PLACES, "transformer.wpe.weight"],
      [other, "draft.model.embed_tokens.weight"],
    ] as const;
    const { state, lookup, passes } = process(new Map(names));
    lookup(10n, PLACES, [1, 4]);
    lookup(11n, WORDS, [1, 4]);
    lookup(20n, other, [1, 1]);
    lookup(30n, WORDS, [1, 1]);
    state.flush();
    expect(passes()).toEqual([
      [11n, 20n, 4, 1],
      [20n, 30n, 1, 1],
      [30n, 30n, 1, 1],
    ]);
  });

  test("of which no token is drawn lasts to the next one, where that begins within a second", () => {
    const { state, lookup, passes } = process();
    lookup(10n, WORDS, [1, 4]);
    lookup(20n, WORDS, [1, 4]);
    lookup(2n * S, WORDS, [1, 4]);
    state.flush();
    expect(passes().map(([begin, end]) => [begin, end])).toEqual([
      [10n, 20n],
      [20n, 20n],
      [2n * S, 2n * S],
    ]);
  });

  test("of a thread that draws tokens has no end while none was drawn from it", () => {
    const { state, lookup, draw, passes } = process();
    lookup(10n, WORDS, [1, 4]);
    draw(15n);
    lookup(20n, WORDS, [1, 1]);
    state.flush();
    expect(passes().map(([begin, end]) => [begin, end])).toEqual([
      [10n, 15n],
      [20n, null],
    ]);
  });

  test("is of its thread, and has as many sequences as its indices say", () => {
    const { state, lookup, draw, passes } = process();
    lookup(10n, WORDS, [7], undefined, 1);
    lookup(11n, WORDS, [1], undefined, 2);
    draw(20n, 1);
    draw(21n, 2);
    state.flush();
    expect(passes()).toEqual([
      [10n, 20n, 7, null],
      [11n, 21n, 1, 1],
    ]);
  });

  test("is not what looks nothing up, or has no memory, nor a token that is drawn from nothing", () => {
    const { state, lookup, draw, passes } = process();
    expect(draw(5n)).toBe("under_way");
    expect(lookup(10n, WORDS, [1, 0])).toBe("empty");
    expect(lookup(11n, 0n, [1, 4])).toBe("null_handle");
    state.flush();
    expect(passes()).toEqual([]);
  });

  test("gives the process the weights that it multiplies with, in pass after pass", () => {
    const { state, lookup } = process();
    const multiply = (time: bigint) => {
      const payload = weightBytes({ sizes: [10, 4], strides: [4, 1] }, PLACES);
      return state.take(rawRecord({ probe: PROBE.linear, time, payload }));
    };
    expect(multiply(1n)).toBe("under_way");
    expect(state.isSettled()).toBe(true);
    for (let pass = 1n; pass <= 3n; pass++) {
      lookup(pass * S, WORDS, [1, 1], { sizes: [1000, 64], strides: [64, 1] });
      expect(multiply(pass * S + 1n)).toBe("kept");
    }
    expect(state.isSettled()).toBe(false);
    const { tensors } = state.takeRows();
    expect(tensors.map(({ addr, size_bytes, evidence }) => [addr, size_bytes, evidence])).toEqual([
      [WORDS, 256_000n, "operand"],
      [PLACES, 160n, "operand"],
    ]);
    expect(multiply(4n * S)).toBe("duplicate");
  });

  test("tells no rows of a cache most of which is kept quantised: what it puts behind the rest is not all of it", () => {
    const rowsOf = (isQuantised: boolean) => {
      const { state, lookup, draw } = process();
      const append = (time: bigint, part: number, pass: number, tensors: number) => {
        const rows = tensors === 3 ? 40 + pass : pass;
        const structure = BigInt(0x5600_0000_0000 + 0x1000 * (10 * pass + part) + tensors);
        const before = tensors === 3 || pass === 1 ? null : structure - 0xa000n;
        const data = 0x7f40_0000_0000n + BigInt(0x10000 * (10 * pass + part) + tensors);
        const payload = appendBytes({ before, structure, data, tensors, sizes: [1, 2, rows, 8] });
        return state.take(rawRecord({ probe: PROBE.append, time, tid: 8, args: [0n, 0n, 2n], payload }));
      };
      for (let pass = 1; pass < 5; pass++) {
        const time = BigInt(100 * pass);
        lookup(time, WORDS, [1, 1]);
        for (const part of [0, 1])
          if (isQuantised) expect(append(time + 5n + BigInt(part), part, pass, 3)).toBe("kept");
        for (const part of [0, 1]) expect(append(time + 10n + BigInt(part), part, pass, 2)).toBe("kept");
        draw(time + 50n);
      }
      state.flush();
      const told = state.takeRows().steps.filter(({ kind, detail }) => kind === "decode" && detail !== null);
      return [told.length, state.untold?.().some((why) => why.includes("quantised"))];
    };
    expect([rowsOf(false), rowsOf(true)]).toEqual([
      [4, false],
      [0, true],
    ]);
  });

  test("of several tokens may decode where its cache has those of all sequences behind each other: the run is told so", () => {
    const mixes = (
      tokens: number,
      sizes: readonly number[],
      dimension = 0n,
      runs: [number, number][] = [[5, tokens]],
    ) => {
      const { state, lookup } = process();
      lookup(10n, WORDS, [1, tokens]);
      const payload = writeBytes({ structure: 0x5600_0000_1000n, data: 0x7f40_0000_0000n, sizes, runs });
      for (let i = 0n; i < 2n; i++)
        state.take(rawRecord({ probe: PROBE.write, time: 12n + i, tid: 8, args: [0n, dimension], payload }));
      state.flush();
      const told = state.takeRows().steps.filter((step) => step.kind === "engine" && mixesTokens(step));
      expect(state.untold?.().some((why) => why.includes("continuous batching"))).toBe(told.length > 0);
      return told.length;
    };
    expect([mixes(4, [64, 2, 8]), mixes(4, [64, 2, 8], -3n)]).toEqual([1, 1]);
    // One token, other rows than the pass has tokens, along another dimension, and a cache of one that stays.
    expect([mixes(1, [64, 2, 8]), mixes(4, [64, 2, 8], 0n, [[5, 3]]), mixes(4, [64, 2, 8], 1n)]).toEqual([0, 0, 0]);
    expect(mixes(4, [1, 2, 64, 8], 2n)).toBe(0);
  });

  test("may check what another model guessed: the run is told so where that comes again and again", () => {
    const draft = 0x7f20_0000_0000n;
    const names = [
      [WORDS, "model.embed_tokens.weight"],
      [draft, "draft.embed_tokens.weight"],
    ] as const;
    const { state, lookup, draw } = process(new Map(names));
    let time = 0n;
    const pass = (table: bigint, tokens: number): void => {
      time += 10n;
      lookup(time, table, [1, tokens]);
      draw(time + 5n);
    };
    const told = () => state.takeRows().steps.filter((step) => step.kind === "engine" && mixesTokens(step)).length;
    for (const table of [draft, WORDS]) pass(table, 12);
    expect(told()).toBe(0);
    for (let i = 0; i < 4; i++) for (const table of [draft, draft, draft, WORDS]) pass(table, table === WORDS ? 4 : 1);
    expect(told()).toBe(1);
    expect(state.untold?.().some((why) => why.includes("assisted generation"))).toBe(true);
  });

  test("may check what was guessed without a model, as by prompt lookup, whose cache loses what was not taken: the run is told so", () => {
    /** @param taken how many of four guesses stay */
    const told = (taken: number) => {
      const { state, lookup, draw } = process();
      let [time, kept, structure] = [0n, 0, 0x5600_0000_0000n];
      const pass = (tokens: number, stay: number): void => {
        time += 100n;
        lookup(time, WORDS, [1, tokens]);
        for (const part of [0n, 1n]) {
          const [before, made] = [structure + part, structure + 0x1000n + part];
          const sizes = [1, 2, kept + tokens, 8];
          const data = 0x7f40_0000_0000n + 0x100n * (made % 0x10_0000n);
          const fields = { before: kept === 0 ? null : before, structure: made, data, sizes, count: tokens };
          const record = { probe: PROBE.append, time: time + 5n + part, tid: 8, args: [0n, 0n, 2n] };
          expect(state.take(rawRecord({ ...record, payload: appendBytes(fields) }))).toBe("kept");
        }
        draw(time + 50n);
        structure += 0x1000n;
        kept += stay;
      };
      pass(20, 20);
      for (let i = 0; i < 5; i++) {
        pass(5, 1 + taken);
        if (taken === 4) pass(1, 1);
      }
      state.flush();
      const rows = state.takeRows().steps.filter((step) => step.kind === "engine" && mixesTokens(step)).length;
      return [rows, state.untold?.().filter((why) => why.includes("prompt lookup")).length];
    };
    expect(told(1)).toEqual([1, 1]);
    // All of them stay, and an answer comes: a conversation does so too.
    expect(told(4)).toEqual([0, 0]);
  });

  test.each([
    ["no KV cache", (i: number) => [1, 10 + i]],
    ["continuous batching", () => [7]],
  ])("tells that nobody knows whose tokens it has, where there is %s", (why, sizes) => {
    const told = (count: number) => {
      const { state, lookup, draw } = process();
      for (let i = 0; i < count; i++) {
        lookup(BigInt(100 * i + 10), WORDS, sizes(i));
        draw(BigInt(100 * i + 50));
      }
      state.flush();
      const rows = state.takeRows().steps.filter((step) => step.kind === "engine" && mixesTokens(step)).length;
      return [rows, state.untold?.().filter((one) => one.includes(why)).length];
    };
    expect([told(3), told(9)]).toEqual([
      [0, 0],
      [1, 1],
    ]);
  });

  test("that cannot be read has no tokens, and is counted", () => {
    const { lookup, state, draw, passes } = process();
    expect(lookup(10n, WORDS, [1, 4], { sizes: [10, 64], elements: 1 })).toBe("implausible");
    draw(12n);
    const payload = new Uint8Array(0x158);
    expect(state.take(rawRecord({ probe: PROBE.embedding, time: 20n, unreadable: 1, payload }))).toBe("unreadable");
    draw(22n);
    state.flush();
    expect(passes()).toEqual([
      [10n, 12n, null, null],
      [20n, 22n, null, null],
    ]);
  });

  test.each([
    [2, [0, 0, 1, 1], [0, 5], 0],
    [1, [null, null], [null, null], 1],
  ])(
    "tells the layers of a static cache that it wrote where these are all of its model, of 2 (%d written)",
    async (pairs, layers, positions, reasons) => {
      const modules = new URL("../../../fixtures/torch_modules.py", import.meta.url).pathname;
      const program = await waitingPython<{ pid: number; version: string; data: number[] }>(modules);
      const { pid, version, data } = program.said;
      if (!isReadable({ pid, version })) return;
      let now = 0n;
      const state = forwardPasses(
        pid,
        () => null,
        addressOf,
        () => now,
      );
      const part = (i: number) => ({ structure: 16n + BigInt(i), data: PLACES + BigInt(8192 * i), storageBytes: 8192 });
      for (const [time, runs] of [
        [10n, [[0, 5]]],
        [30n, [[5, 1]]],
      ] as const) {
        const table = { sizes: [16, 8], strides: [8, 1] };
        const payload = lookupBytes({ data: BigInt(data[0] ?? 0), table, indices: { sizes: [1, runs[0][1]] } });
        state.take(rawRecord({ probe: PROBE.embedding, time, payload }));
        for (let i = 0; i < 2 * pairs; i++) {
          const args = Array.from({ length: DIMENSION + 1 }, () => 2n);
          const written = rawRecord({
            probe: PROBE.write,
            time: time + 1n,
            payload: writeBytes({ ...part(i), runs }),
            args,
          });
          expect(state.take(written)).toBe("kept");
        }
        state.take(rawRecord({ probe: PROBE.sample, time: time + 9n }));
      }
      state.take(
        rawRecord({
          probe: PROBE.embedding,
          time: 50n,
          payload: lookupBytes({ data: WORDS, table: { sizes: [9, 8] }, indices: { sizes: [1, 1] } }),
        }),
      );
      expect(state.takeRows()).toMatchObject({ tensors: [], steps: [{ kind: "engine" }] });
      now = S;
      state.look((address, length) =>
        address < 32n ? storageBytes(part(Number(address - 16n))) : program.read(address, length),
      );
      const { tensors, steps } = state.takeRows();
      const caches = tensors.filter(({ region_type }) => region_type === "kv_cache");
      expect(caches.map(({ layer }) => layer)).toEqual(layers);
      const passes = steps.filter(({ kind }) => kind === "decode");
      expect(passes.map(({ position_first }) => position_first)).toEqual(positions);
      expect(state.untold?.()).toHaveLength(reasons);
      await program.end();
    },
  );
});
