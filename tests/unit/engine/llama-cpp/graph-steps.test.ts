import { describe, expect, test } from "bun:test";
import { GGML_LAYOUT } from "../../../../src/engine/llama-cpp/offsets.ts";
import { PROBE } from "../../../../src/engine/llama-cpp/probes.ts";
import { stepLog } from "../../../../src/engine/llama-cpp/step-log.ts";
import { type BatchFields, batchBytes, graphBytes, rawRecord } from "../../../fixtures/ggml-structs.ts";

const CACHE = 0x7f00_0000_1000n;
/** What Go passes as the end of a sequence. */
const END = 2n ** 31n - 1n;

/** A process of Ollama's own engine, which loads its model before our eyes, unless it is attached to late. */
function runner({ isLate = false } = {}) {
  const log = stepLog({
    ...{ pid: 7, layout: GGML_LAYOUT, weights: { bytes: 0, tensors: 0 } },
    ...{ isSettled: () => false, cacheAt: () => null },
  });
  let time = 0n;
  const take = (probe: number, args: readonly bigint[], payload?: Uint8Array, isReturn = false) =>
    log.take(rawRecord({ probe, args, isReturn, time: ++time, ...(payload === undefined ? {} : { payload }) }));
  if (!isLate) {
    take(PROBE.go_cache, [1n, 2n, 3n, 0n, 1n]);
    log.takeRows();
    time = 0n;
  }
  return {
    log,
    take,
    forward: (batch: BatchFields) => take(PROBE.go_forward, [], batchBytes(batch)),
    begin: (tokens: number, first: number, cache = CACHE) =>
      take(PROBE.graph_compute, [1n], graphBytes({ tokens, cache, cells: [[first, tokens]] })),
    end: (status = 0n) => take(PROBE.graph_compute, [status], new Uint8Array(0), true),
    remove: (...args: readonly bigint[]) => take(PROBE.go_remove, [1n, ...args]),
    rows: () => log.takeRows().filter(({ kind }) => kind !== "graph"),
  };
}

const token = (sequence: number, position: number): BatchFields => ({ tokens: 1, runs: [[sequence, position, 1]] });

describe("the steps of an engine that hands graphs to ggml itself", () => {
  test("are its graphs, with the sequences, positions and cells of what Go handed over one batch ahead", () => {
    const { forward, begin, end, rows, log } = runner();
    forward({ tokens: 5 });
    begin(5, 0);
    forward(token(0, 5));
    end();
    // Of this batch Go may tell before its graph begins, or when it has begun.
    forward(token(0, 6));
    begin(1, 5);
    end();
    begin(1, 6);
    end();
    expect(rows()).toMatchObject([
      { kind: "decode", timestamp_ns: 2n, end_ns: 4n, n_tokens: 5, n_sequences: 1, position_first: 0, sequence_id: 0 },
      { n_tokens: 1, position_first: 5, result: 0n, detail: '{"kv_row_cells":[[5,1]]}' },
      { n_tokens: 1, position_first: 6 },
    ]);
    expect(log.kvHeads()).toMatchObject([{ next_row: 7, sequences: 1 }]);
  });

  test("have every sequence of a batch of several", () => {
    const { forward, begin, end, rows } = runner();
    const runs = [
      [0, 9, 1],
      [3, 4, 1],
    ] as const;
    forward({ tokens: 2, runs });
    begin(2, 20);
    end();
    const [row] = rows();
    expect(row).toMatchObject({ n_tokens: 2, n_sequences: 2, sequence_id: null });
    expect(JSON.parse(row?.detail ?? "")).toEqual({ kv_rows: runs, kv_row_cells: [[20, 2]] });
  });

  test("leave out the one of which Go told before the probes came, as a call that was under way", () => {
    const { forward, begin, end, rows } = runner();
    begin(5, 0);
    forward(token(0, 5));
    expect(end()).toBe("under_way");
    begin(1, 5);
    end();
    expect(rows()).toMatchObject([{ n_tokens: 1, position_first: 5 }]);
  });

  test("have tokens and no sequences where the program has no names of Go", () => {
    const { begin, end, rows, log } = runner();
    for (let i = 0; i < 31; i++) {
      begin(1, i);
      end();
    }
    // A call that decodes may have begun before the probes came.
    expect(rows()).toEqual([]);
    begin(1, 31);
    end();
    begin(1, 32);
    end();
    const seen = rows();
    expect(seen.length).toBe(33);
    expect(seen.at(-1)).toMatchObject({ kind: "decode", n_tokens: 1, n_sequences: null, position_first: null });
    log.flush();
    expect(rows()).toEqual([]);
  });

  test("are told at the end where there were few of them", () => {
    const { begin, end, rows, log } = runner();
    begin(4, 0);
    end();
    log.flush();
    expect(rows()).toMatchObject([{ kind: "decode", n_tokens: 4, n_sequences: null }]);
  });

  test("are none where a call that decodes was under way", () => {
    const { begin, end, rows, take, log } = runner();
    begin(1, 0);
    end();
    expect(take(PROBE.decode, [0n], new Uint8Array(0), true)).toBe("under_way");
    begin(1, 1);
    end();
    log.flush();
    expect(rows()).toEqual([]);
  });

  test("are none of graphs that write no cache, such as one that turns its keys", () => {
    const { take, end, rows, log } = runner();
    take(PROBE.graph_compute, [1n], graphBytes({ tokens: 4 }));
    end();
    log.flush();
    expect(rows()).toEqual([]);
  });

  test("have no end where the runner ended in the midst of one, and say where a graph failed", () => {
    const { forward, begin, end, rows, log } = runner();
    forward(token(0, 0));
    begin(1, 0);
    end(-1n);
    forward(token(0, 1));
    begin(1, 1);
    log.flush();
    expect(rows()).toMatchObject([
      { position_first: 0, result: -1n },
      { position_first: 1, end_ns: null, result: null },
    ]);
  });

  test("take no batch for another one's: the graph of which Go's word was lost has none", () => {
    const { forward, begin, end, rows } = runner();
    forward(token(0, 0));
    begin(1, 0);
    end();
    begin(5, 1);
    forward(token(0, 6));
    end();
    begin(1, 6);
    end();
    expect(rows().map(({ n_tokens, position_first }) => [n_tokens, position_first])).toEqual([
      [1, 0],
      [5, null],
      [1, 6],
    ]);
  });

  /** Decodes one token at each of some positions, of which each batch is handed over before the graph of the one before begins. */
  const ahead = ({ forward, begin, end }: ReturnType<typeof runner>, from: number, until: number) => {
    for (let position = from; position < until; position++) {
      forward(token(0, position + 1));
      begin(1, position);
      end();
    }
  };
  const told = ({ rows }: ReturnType<typeof runner>) =>
    rows().map(({ position_first, detail }) => [position_first, JSON.parse(detail ?? "{}").kv_row_cells?.[0]?.[0]]);

  test("have their own batches where the first that was seen came before the graph of the one before it", () => {
    const late = runner({ isLate: true });
    ahead(late, 5, 8);
    expect(told(late)).toEqual([]);
    // This graph begins before the next batch is handed over: the one that it would get is taken.
    late.begin(1, 8);
    late.forward(token(0, 9));
    late.end();
    late.begin(1, 9);
    late.end();
    expect(told(late)).toEqual([6, 7, 8, 9].map((position) => [position, position]));
  });

  test("have them also where nothing but the end of the answer shows it", () => {
    const late = runner({ isLate: true });
    ahead(late, 5, 8);
    late.begin(1, 8);
    late.end();
    expect(late.log.takeUnderWay()).toBe(0);
    late.remove(0n, 1n, END);
    expect(told(late).slice(0, 3)).toEqual([6, 7, 8].map((position) => [position, position]));
    // The first of the four is in no row, as a call that was under way.
    expect([late.log.takeUnderWay(), late.log.takeUnderWay()]).toEqual([1, 0]);
  });

  test("keep them where the batch of one was lost", () => {
    const late = runner({ isLate: true });
    late.forward(token(0, 5));
    late.begin(1, 5);
    late.end();
    late.begin(1, 6);
    late.forward(token(0, 7));
    late.end();
    late.begin(1, 7);
    late.end();
    expect(told(late)).toEqual([
      [5, 5],
      [null, undefined],
      [7, 7],
    ]);
    expect(late.log.takeUnderWay()).toBe(0);
  });

  test("are told as they came where a batch of another number of tokens shows that each has its own, and after a while", () => {
    const late = runner({ isLate: true });
    for (const position of [5, 6]) {
      late.forward(token(0, position));
      late.begin(1, position);
      late.end();
    }
    expect(told(late)).toEqual([]);
    late.forward({ tokens: 4, runs: [[1, 0, 4]] });
    late.begin(4, 20);
    late.end();
    expect(told(late)).toEqual([
      [5, 5],
      [6, 6],
      [0, 20],
    ]);
    const other = runner({ isLate: true });
    for (let position = 0; position < 130; position++) {
      other.forward(token(0, position));
      other.begin(1, position);
      other.end();
    }
    expect(told(other).length).toBe(130);
  });

  test("are not believed where the batch is none", () => {
    const { take } = runner();
    expect(take(PROBE.go_forward, [], batchBytes({ tokens: -1, runs: [] }))).toBe("implausible");
    expect(take(PROBE.go_forward, [], new Uint8Array(0))).toBe("implausible");
  });
});

describe("a graph of which a graphics card computes a part", () => {
  const LIST = 0x7e00_0000_0000n;
  /** Parts on the CPU, each with the place of its list among the graph's, and the number of the first layer that it writes. */
  const parted = (isLate = false) => {
    const engine = runner({ isLate });
    const part = (at: number, layer: number, cells: readonly (readonly [number, number])[], op = 40) => {
      const tokens = cells.reduce((sum, [, count]) => sum + count, 0);
      const place = { list: LIST + BigInt(8 * at), cache: CACHE + BigInt(layer * 4096) };
      engine.take(PROBE.graph_compute, [1n], graphBytes({ tokens, op, ...place, cells }));
      return engine.end();
    };
    return { ...engine, part };
  };

  test("is one step, whatever is between its parts, and has the batch that was handed over for it", () => {
    const { part, forward, rows, log, take } = parted();
    for (const position of [0, 1, 2]) {
      forward(token(0, position));
      part(0, 0, [[position, 1]]);
      forward(token(0, position + 1));
      part(300, 3, [[position, 1]], 36);
      part(900, 8, [[position, 1]], 36);
      take(PROBE.go_draw, []);
    }
    const seen = rows();
    expect(seen.map(({ position_first, n_tokens, result }) => [position_first, n_tokens, result])).toEqual([
      [0, 1, 0n],
      [1, 1, 0n],
      [2, 1, 0n],
    ]);
    expect(log.kvHeads()).toMatchObject([{ next_row: 3 }]);
    // The first is told with its first part, before it is known that there are others.
    expect(seen.map(({ timestamp_ns, end_ns }) => Number((end_ns ?? 0n) - timestamp_ns))).toEqual([1, 6, 6]);
  });

  test("is told once where Go drops something of its cache while a later part is computed, and has no end where that part has none", () => {
    const { part, take, remove, rows, log } = parted();
    for (const position of [0, 1, 2]) {
      part(0, 0, [[position, 1]]);
      part(300, 3, [[position, 1]], 36);
    }
    const later = graphBytes({ tokens: 1, op: 36, list: LIST + 2400n, cache: CACHE + 4096n * 3n, cells: [[3, 1]] });
    part(0, 0, [[3, 1]]);
    take(PROBE.graph_compute, [1n], later);
    remove(1n, 4n, END);
    take(PROBE.graph_compute, [0n], new Uint8Array(0), true);
    part(0, 0, [[4, 1]]);
    take(PROBE.graph_compute, [1n], later);
    log.flush();
    const steps = rows().filter(({ kind }) => kind === "decode");
    expect(steps.map(({ end_ns }) => end_ns !== null)).toEqual([true, true, true, true, false]);
  });

  test("says where one of its parts failed", () => {
    const { part, take, rows, log } = parted();
    for (let i = 0; i < 40; i++) {
      part(0, 0, [[i, 1]]);
      part(300, 3, [[i, 1]], 36);
    }
    rows();
    const fields = { tokens: 1, list: LIST, cache: CACHE, cells: [[40, 1]] as const };
    take(PROBE.graph_compute, [1n], graphBytes(fields));
    take(PROBE.graph_compute, [-1n], new Uint8Array(0), true);
    part(300, 3, [[40, 1]], 36);
    log.flush();
    expect(rows().at(-1)).toMatchObject({ result: -1n });
  });

  test("is another one where it writes the same layer again, wherever its list begins", () => {
    const { part, rows, log } = parted();
    // A batch of another shape has its first part further on.
    for (const at of [0, 8, 16]) part(at, 0, [[at, 4]]);
    log.flush();
    expect(rows().length).toBe(3);
  });

  test("is another one of another model, whose list is elsewhere", () => {
    const { part, rows, log } = parted();
    for (const i of [0, 1]) {
      part(0, 0, [[i, 1]]);
      part(1 << 20, 50, [[i, 1]]);
    }
    log.flush();
    expect(rows().length).toBe(4);
  });
});

describe("what Go does to its cache", () => {
  test("is the making of it, the trim of a sequence, and rows of another one that it gets", () => {
    const { take, remove, rows } = runner();
    take(PROBE.go_cache, [1n, 2n, 3n, 0n, 4n]);
    remove(0n, 30n, END);
    take(PROBE.go_copy, [1n, 0n, 2n, 8n]);
    expect(rows().map(({ kind, sequence_id, detail }) => [kind, sequence_id, JSON.parse(detail ?? "")])).toEqual([
      ["context", null, { n_seq_max: 4 }],
      ["kv_trim", 0, { position_from: 30, position_to: -1 }],
      ["kv_trim", 2, { position_from: 0, position_to: -1 }],
      ["kv_copy", 2, { sequence_from: 0, position_from: 0, position_to: 8 }],
    ]);
  });

  test("is a shift of what comes behind where rows are taken from its midst", () => {
    const { forward, begin, end, remove, rows } = runner();
    forward({ tokens: 60 });
    begin(60, 0);
    end();
    remove(0n, 4n, 32n);
    expect(rows().slice(1)).toMatchObject([
      { kind: "kv_trim", detail: '{"position_from":4,"position_to":32}' },
      { kind: "kv_shift", detail: '{"position_from":32,"position_to":-1,"positions":-28}' },
    ]);
  });

  test("is told once where Go begins a function anew on a larger stack, or a model has caches of two kinds", () => {
    const { forward, begin, end, remove, rows } = runner();
    expect([remove(0n, 4n, 32n), remove(0n, 4n, 32n), forward(token(0, 0)), forward(token(0, 0))]).toEqual([
      "kept",
      "duplicate",
      "kept",
      "duplicate",
    ]);
    begin(1, 0);
    end();
    forward(token(0, 0));
    begin(1, 0);
    end();
    expect(rows().map(({ kind }) => kind)).toEqual(["kv_trim", "kv_shift", "decode", "decode"]);
  });

  test("is told once where keys are turned for one cache of two before the other one does the same", () => {
    const { take, end, remove, forward, begin, rows } = runner();
    expect(remove(0n, 4n, 32n)).toBe("kept");
    take(PROBE.graph_compute, [1n], graphBytes({ tokens: 1, op: 34 }));
    end();
    expect(remove(0n, 4n, 32n)).toBe("duplicate");
    forward(token(0, 4));
    begin(1, 4);
    end();
    expect(remove(0n, 4n, 32n)).toBe("kept");
    expect(rows().map(({ kind }) => kind)).toEqual(["kv_trim", "kv_shift", "decode", "kv_trim", "kv_shift"]);
  });

  test("is told once by its arguments alone, whatever else is in registers, and above numbers of 4 bytes", () => {
    const { take, rows } = runner();
    const above = 0xabcdn << 32n;
    const twice = (probe: number, args: readonly bigint[], again: readonly bigint[]) => [
      take(probe, [1n, ...args]),
      take(probe, [2n, ...again]),
    ];
    expect([
      ...twice(PROBE.go_remove, [0n, 4n, 32n, 99n], [0n, above + 4n, above + 32n, 7n]),
      ...twice(PROBE.go_copy, [0n, 1n, 8n, 99n], [0n, 1n, above + 8n, 7n]),
      ...twice(PROBE.go_remove, [0n, 4n, 32n, 5n], [1n, 4n, 32n, 5n]),
    ]).toEqual(["kept", "duplicate", "kept", "duplicate", "kept", "kept"]);
    expect(rows().map(({ kind, sequence_id }) => `${kind} ${sequence_id}`)).toEqual([
      ...["kv_trim 0", "kv_shift 0", "kv_trim 1", "kv_copy 1"],
      ...["kv_trim 0", "kv_shift 0", "kv_trim 1", "kv_shift 1"],
    ]);
  });
});
