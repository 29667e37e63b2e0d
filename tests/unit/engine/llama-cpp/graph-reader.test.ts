import { describe, expect, test } from "bun:test";
import { graphMemory, readGraph } from "../../../../src/engine/llama-cpp/graph-reader.ts";
import { GGML_LAYOUT } from "../../../../src/engine/llama-cpp/offsets.ts";
import { COLUMNS, ROWS } from "../../../../src/regions/kv-layout.ts";
import {
  bufferBytes,
  fakeMemory,
  olderBufferBytes,
  type TensorFields,
  tensorBytes,
} from "../../../fixtures/ggml-structs.ts";

const LIST = 0x1_0010_0000n;
const BUFFER = 0x1_0020_0000n;
const DATA = 0x7f00_0000_0000n;

function headOf(list: bigint, count: number): DataView {
  const head = new DataView(new ArrayBuffer(64));
  head.setInt32(4, count, true);
  head.setBigUint64(16, list, true);
  return head;
}

/** A process whose memory holds a graph; `tensor` gives the address of a new tensor with data in the one buffer. */
function world() {
  const memory = fakeMemory();
  memory.put(BUFFER, bufferBytes(DATA, 1 << 20));
  let next = 0x1_0100_0000n;
  let placed = 0;
  const tensor = (name: string, fields: TensorFields = {}) => {
    const data = DATA + BigInt(64 * placed++);
    const at = memory.put(next, tensorBytes({ name, buffer: BUFFER, data, ...fields }));
    next += 0x1000n;
    return at;
  };
  const graph = (nodes: readonly bigint[], count = nodes.length) => {
    const list = new DataView(new ArrayBuffer(Math.max(8, nodes.length * 8)));
    for (const [i, node] of nodes.entries()) list.setBigUint64(i * 8, node, true);
    memory.put(LIST, new Uint8Array(list.buffer));
    return readGraph(headOf(LIST, count), graphMemory(memory.read), GGML_LAYOUT);
  };
  return { memory, tensor, graph };
}

function names(reading: ReturnType<typeof readGraph>): string[] {
  return reading.tensors.map(({ tensor }) => tensor.name).sort();
}

describe("the graph reader", () => {
  test("finds the operands of the nodes, each once", () => {
    const { tensor, graph } = world();
    const weight = tensor("blk.0.attn_q.weight");
    const input = tensor("inp");
    const q = tensor("Qcur-0", { src: [weight, input] });
    const reading = graph([q, tensor("Kcur-0", { src: [weight, q] })]);
    expect(names(reading)).toEqual(["Kcur-0", "Qcur-0", "blk.0.attn_q.weight", "inp"]);
    expect(reading).toMatchObject({ nodes: 2, complete: true, refused: {}, flashAttention: null });
  });

  test("goes through tensors without elements, as a batch without outputs makes them, to what they would be made of", () => {
    const { tensor, graph } = world();
    const last = tensor("norm", { ne: [64, 0, 1, 1], src: [tensor("Kcur-0"), tensor("output_norm.weight")] });
    const reading = graph([
      last,
      tensor("result_output", { ne: [512, 0, 1, 1], src: [tensor("output.weight"), last] }),
    ]);
    expect(names(reading)).toEqual(["Kcur-0", "output.weight", "output_norm.weight"]);
    expect(reading).toMatchObject({ nodes: 2, complete: true, refused: {} });
  });

  test("finds the operands in the buffers of an older build", () => {
    const { memory, tensor, graph } = world();
    const buffer = memory.put(0x1_0030_0000n, olderBufferBytes(DATA, 1 << 20, 1));
    const reading = graph([tensor("Qcur-0", { buffer, src: [tensor("blk.0.attn_q.weight", { buffer })] })]);
    expect(reading.refused).toEqual({});
    expect(reading.tensors.map((found) => found.buffer)).toEqual(
      Array.from({ length: 2 }, () => ({ addr: DATA, sizeBytes: 1 << 20, usage: "weights" as const })),
    );
  });

  test("resolves views to the tensor that owns the bytes, and counts those bytes once", () => {
    const { tensor, graph } = world();
    const cache = tensor("cache_k_l0");
    const view = tensor("cache_k_l0 (view)", { viewSrc: cache });
    const deeper = tensor("cache_k_l0 (view) (permuted)", { viewSrc: view });
    const reading = graph([tensor("kq-0", { src: [deeper] }), view]);
    expect(names(reading)).toEqual(["cache_k_l0", "kq-0"]);
    expect(reading).toMatchObject({ views: 2, flashAttention: false });
  });

  test("tells flash attention by one node that reads a cache twice, where keys and values are made of the same rows", () => {
    const flashOf = (isFused: boolean) => {
      const { tensor, graph } = world();
      const cache = tensor("cache_k_l0");
      const view = (name: string) => tensor(name, { viewSrc: cache });
      const moved = tensor("cache_k_l0 (copy)", { viewSrc: cache, src: [view("from"), view("to")] });
      const [keys, values] = [view("keys"), view("values")];
      const apart = [tensor("kq-0", { src: [keys] }), tensor("v_cont-0", { src: [values] })];
      return graph([moved, ...(isFused ? [tensor("fattn-0", { src: [keys, values] })] : apart)]).flashAttention;
    };
    expect([flashOf(false), flashOf(true)]).toEqual([false, true]);
  });

  test("tells flash attention by one node that reads K and V", () => {
    const { tensor, graph } = world();
    const k = tensor("k (view)", { viewSrc: tensor("cache_k_l0") });
    const v = tensor("v (view)", { viewSrc: tensor("cache_v_l0") });
    expect(graph([tensor("out", { src: [tensor("q"), k, v] })]).flashAttention).toBe(true);
    const apart = world();
    const kq = apart.tensor("kq", { src: [apart.tensor("cache_k_l0")] });
    expect(apart.graph([kq, apart.tensor("kqv", { src: [apart.tensor("cache_v_l0"), kq] })]).flashAttention).toBe(
      false,
    );
  });

  test("tells nothing of flash attention by a node that writes the cache, or one that looks into it", () => {
    const { tensor, graph } = world();
    const cache = tensor("cache_k_l0");
    const write = tensor("(view)", { op: 42, viewSrc: cache, src: [tensor("values"), tensor("list"), cache] });
    expect(graph([write, tensor("view", { viewSrc: cache, src: [cache] })]).flashAttention).toBeNull();
  });

  test("tells a table of embeddings that is the output matrix too by a node that reads all of it", () => {
    const outputsOf = (matrix: "other" | "table" | "copy" | "view") => {
      const { tensor, graph } = world();
      const table = tensor("token_embd.weight");
      const view = tensor("token_embd.weight (view)", { viewSrc: table, src: [table] });
      const others = { other: tensor("output.weight"), table, copy: tensor("token_embd.weight"), view };
      const rows = tensor("embd", { op: 40, src: [table, tensor("inp_tokens")] });
      const reading = graph([rows, view, tensor("result_output", { op: 29, src: [others[matrix], rows] })]);
      return reading.tensors.flatMap(({ tensor: { data }, isOutput }) => (isOutput ? [data] : []));
    };
    expect(outputsOf("other")).toEqual([]);
    expect([outputsOf("table"), outputsOf("view")]).toEqual([[DATA], [DATA]]);
    // Where the engine keeps another form of it for the output.
    expect(outputsOf("copy")).toEqual([DATA + 192n]);
  });

  test("takes a table in which rows are looked up for no output matrix, whatever number its build has for the operation", () => {
    const { tensor, graph } = world();
    const table = tensor("token_embd.weight", { ne: [64, 512, 1, 1] });
    const tokens = tensor("inp_tokens", { type: 26 });
    // GGML_OP_GET_ROWS was a lower number before others were put in front of it.
    const reading = graph([38, 39, 40].map((op) => tensor("embd", { op, ne: [64, 4, 1, 1], src: [table, tokens] })));
    expect(reading.tensors.filter(({ isOutput }) => isOutput)).toEqual([]);
  });

  test("counts the lists of cells by which layers write their keys: one more where some have another cache", () => {
    const caches = (lists: readonly number[]) => {
      const { tensor, graph } = world();
      const list = [tensor("list 0"), tensor("list 1")];
      const values = tensor("values");
      const nodes = lists.flatMap((one, layer) => {
        const write = (part: string, indexes: bigint) => {
          const cache = tensor(`cache_${part}_l${layer}`);
          return tensor("(view)", { op: 42, viewSrc: cache, src: [values, indexes, cache] });
        };
        return [write("k", list[one] as bigint), write("v", values)];
      });
      return graph([tensor("other", { op: 42, src: [values, values] }), ...nodes]).caches;
    };
    expect([caches([]), caches([0, 0, 0]), caches([0, 1, 0])]).toEqual([0, 1, 2]);
  });

  test("counts masks where a build writes its caches without lists: one more where some layers look back over a window", () => {
    const caches = (masks: readonly number[], isFused: boolean) => {
      const { tensor, graph } = world();
      const mask = [tensor("mask 0"), tensor("mask 1")];
      const nodes = masks.flatMap((one, layer) => {
        const keys = tensor("keys", { viewSrc: tensor(`cache_k_l${layer}`) });
        const values = tensor("values", { viewSrc: tensor(`cache_v_l${layer}`) });
        const [query, over] = [tensor("query"), mask[one] as bigint];
        if (isFused) return [tensor("fattn", { src: [query, keys, values, over] })];
        const scores = tensor("kq", { src: [keys, query] });
        const capped = tensor("kq_capped", { src: [scores] });
        const soft = tensor("kq_soft_max", { src: [capped, over] });
        return [scores, capped, soft, tensor("kqv", { src: [values, soft] })];
      });
      return graph([tensor("sum", { src: [tensor("one"), tensor("other")] }), ...nodes]).caches;
    };
    for (const isFused of [false, true]) expect([caches([0, 0], isFused), caches([0, 1], isFused)]).toEqual([1, 2]);
  });

  test("tells what a cache without a name is: by the node that sets its rows, and the nearest weight of a layer before that", () => {
    const { tensor, graph } = world();
    const hidden = tensor("node_9", { src: [tensor("blk.2.ffn_down.weight")] });
    const layer = (n: number) => {
      const list = tensor("leaf_1");
      const written = (part: string) =>
        tensor(`${part}`, { src: [tensor("", { src: [tensor(`blk.${n}.attn_${part}.weight`), hidden] })] });
      const keys = tensor("leaf_2", { ne: [8, 2, 64, 1] });
      const values = tensor("", { ne: [64, 8, 2, 1] });
      const set = (cache: bigint, part: string, ne: readonly number[]) =>
        tensor("node_3", { op: 42, ne, viewSrc: cache, src: [written(part), list, cache] });
      return [set(keys, "k", [16, 64, 1, 1]), set(values, "v", [1, 64, 16, 1]), tensor("kqv", { src: [keys, values] })];
    };
    const reading = graph([...layer(3), ...layer(4)]);
    const shape = { elements: 16, cells: 64 };
    expect(reading.tensors.flatMap(({ role }) => (role ? [role] : []))).toEqual(
      [3, 4].flatMap((n) => [
        { layer: n, part: "k" as const, layout: ROWS, ...shape },
        { layer: n, part: "v" as const, layout: COLUMNS, ...shape },
      ]),
    );
    expect(reading).toMatchObject({ caches: 2, cacheLists: [[3], [4]], flashAttention: true });
  });

  test("gives no role to what is no cache: a tensor of a graph, a cache with a name, other shapes", () => {
    const { memory, tensor, graph } = world();
    const compute = memory.put(0x1_0030_0000n, bufferBytes(DATA, 1 << 20, 2));
    const set = (cache: bigint, ne: readonly number[]) => tensor("node", { op: 42, ne, viewSrc: cache, src: [cache] });
    const nodes = [
      set(tensor("leaf_1", { ne: [8, 64, 1, 1], buffer: compute }), [8, 64, 1, 1]),
      set(tensor("cache_k_l0", { ne: [8, 64, 1, 1] }), [8, 64, 1, 1]),
      set(tensor("leaf_2", { ne: [8, 64, 1, 1] }), [8, 32, 1, 1]),
      set(tensor("leaf_3", { ne: [8, 64, 2, 1] }), [8, 64, 2, 1]),
      tensor("leaf_4", { op: 42, ne: [8, 64, 1, 1] }),
    ];
    expect(graph(nodes).tensors.map(({ role }) => role)).toEqual(nodes.map(() => undefined));
  });

  test("tells no layer of a cache before which no weight of one is found", () => {
    const { tensor, graph } = world();
    const cache = tensor("leaf_2", { ne: [8, 64, 1, 1] });
    const [found] = graph([tensor("node", { op: 42, ne: [8, 64, 1, 1], viewSrc: cache, src: [tensor("x")] })]).tensors;
    expect(found?.role).toEqual({ layer: null, part: null, layout: ROWS, elements: 8, cells: 64 });
  });

  test("counts what it does not believe, by reason, and goes on", () => {
    const { tensor, graph } = world();
    const good = tensor("good");
    const reading = graph([
      tensor("a", { src: [good, 0x66_0000n] }),
      tensor("b", { src: [tensor("bad", { type: 99 })] }),
      tensor("c", { data: DATA + (1n << 30n) }),
      tensor("d", { buffer: 0x77_0000n }),
    ]);
    expect(names(reading)).toEqual(["a", "b", "good"]);
    expect(reading.refused).toEqual({
      tensor_unreadable: 1,
      tensor_type: 1,
      outside_buffer: 1,
      buffer_unreadable: 1,
    });
  });

  test("ends on views that go in a circle, and on graphs that cannot be", () => {
    const { tensor, graph } = world();
    const circle = 0x1_0100_0000n;
    tensor("circle", { viewSrc: circle });
    expect(graph([circle]).refused).toEqual({ view_too_deep: 1 });
    expect(world().graph([], 1_000_000).refused).toEqual({ graph_implausible: 1 });
    expect(world().graph([], -1).refused).toEqual({ graph_implausible: 1 });
    const cut = world();
    expect(cut.graph([cut.tensor("a")], 500)).toMatchObject({ nodes: 1, complete: false });
    expect(
      readGraph(
        headOf(LIST, 3),
        graphMemory(() => null),
        GGML_LAYOUT,
      ),
    ).toMatchObject({
      tensors: [],
      refused: { node_list_unreadable: 1 },
      complete: false,
    });
  });

  test("does not believe a tensor that was another one at a second look", () => {
    const { memory, tensor, graph } = world();
    const moved = tensor("moved");
    graph([moved, tensor("still")]);
    let looks = 0;
    const reading = readGraph(
      headOf(LIST, 2),
      graphMemory((at, length) => {
        const bytes = memory.read(at, length);
        if (at === moved && bytes && ++looks > 1) new DataView(bytes.buffer).setBigUint64(248, DATA + 4096n, true);
        return bytes;
      }),
      GGML_LAYOUT,
    );
    expect(names(reading)).toEqual(["still"]);
    expect(reading.refused).toEqual({ changed_while_read: 1 });
  });

  test("reads structures that lie together in few system calls", () => {
    const { memory } = world();
    const count = 400;
    const arena = new Uint8Array(new ArrayBuffer(1 << 18));
    const at = 0x2_0000_0000n;
    const list = new DataView(arena.buffer, 0, count * 8);
    for (let i = 0; i < count; i++) {
      const place = 8192 + i * 368;
      list.setBigUint64(i * 8, at + BigInt(place), true);
      arena.set(tensorBytes({ name: `n${i}`, buffer: BUFFER, data: DATA + BigInt(i * 64) }), place);
    }
    memory.put(at, arena);
    const reading = readGraph(headOf(at, count), graphMemory(memory.read), GGML_LAYOUT);
    expect([reading.tensors.length, reading.complete]).toEqual([count, true]);
    expect(memory.reads()).toBeLessThan(80);
  });
});
