import { describe, expect, test } from "bun:test";
import { type CapturePart, capturePlan, planBytes } from "../../../../src/engine/probing/capture-plan.ts";
import { captureTable } from "../../../../src/engine/probing/capture-table.ts";
import { recordLayout } from "../../../../src/schema/records.ts";
import { ENGINE, ENGINE_FORM, ENGINE_ROOM, ENGINE_SOURCE, ENGINE_WALK } from "../../../../src/schema/shared-numbers.ts";

const part = (bytes: number): CapturePart => ({ form: "bytes", from: 0, bytes });
const BATCH = { tokens: 0, positions: 24, sequenceCounts: 32, sequences: 40, logits: 48 };
const INDEXES: CapturePart = {
  form: "indexes",
  offsets: {
    count: 4,
    nodes: 16,
    operation: 42,
    nodeOperation: 80,
    operand: 160,
    owner: 232,
    buffer: 8,
    usage: 112,
    passing: 2,
    type: 1,
    elements: 17,
    data: 248,
    narrowType: 26,
    wideType: 27,
  },
};

describe("a plan of what a probe copies", () => {
  test("has its parts one behind the other, in the least room that the kernel program can place them in", () => {
    expect(capturePlan()).toMatchObject({ at: [], bytes: 0, room: 0 });
    expect(capturePlan(part(120))).toMatchObject({ at: [0], bytes: 120, room: 128 });
    expect(capturePlan(part(120), part(304))).toMatchObject({ at: [0, 120], bytes: 424, room: 512 });
    expect(capturePlan(part(1024))).toMatchObject({ at: [0], room: 1024 });
    const batch = recordLayout("engine_batch").bytes + ENGINE.many_runs * recordLayout("engine_batch_run").bytes;
    const least = recordLayout("engine_batch").bytes + ENGINE.least_runs * recordLayout("engine_batch_run").bytes;
    expect(capturePlan({ form: "batch", offsets: BATCH })).toMatchObject({ at: [0], bytes: batch, least, room: batch });
  });

  test("is refused where no record has room, or there are too many parts", () => {
    expect(() => capturePlan(part(1025))).toThrow(RangeError);
    // The second part would begin later than in the largest record it may.
    expect(() => capturePlan(part(336), part(120))).toThrow(RangeError);
    expect(() => capturePlan({ form: "batch", offsets: BATCH }, part(56))).toThrow(RangeError);
    expect(() => capturePlan(...Array.from({ length: ENGINE.parts + 1 }, () => part(8)))).toThrow(RangeError);
  });

  test("says which value an argument must have", () => {
    const { offsets } = recordLayout("engine_capture");
    const only = (plan: ReturnType<typeof capturePlan>) => {
      const view = new DataView(planBytes(plan).buffer);
      return [view.getUint8(offsets.only_argument), view.getUint8(offsets.only_value)];
    };
    expect(only(capturePlan())).toEqual([0, 0]);
    expect(only({ ...capturePlan(), only: { argument: 2, value: 3 } })).toEqual([2, 3]);
  });

  test("says of a function of Go that its arguments are in other registers, and of a batch that it has no lists", () => {
    const { offsets } = recordLayout("engine_capture");
    const flags = (plan: ReturnType<typeof capturePlan>) => {
      const view = new DataView(planBytes(plan).buffer);
      return [view.getUint8(offsets.go_registers), view.getUint8(offsets.batch_flat)];
    };
    expect(flags(capturePlan())).toEqual([0, 0]);
    expect(flags(capturePlan({ form: "batch", offsets: BATCH }))).toEqual([0, 0]);
    expect(flags({ ...capturePlan(), isGo: true })).toEqual([1, 0]);
    expect(
      flags({
        ...capturePlan({ form: "batch", offsets: { ...BATCH, sequenceCounts: null, logits: null } }),
        isGo: true,
      }),
    ).toEqual([1, 1]);
  });

  test("reaches the kernel program with every number of every form", () => {
    const plan = capturePlan(
      { form: "array", from: 2, bytes: 64, countArgument: 3, elementBytes: 4 },
      { form: "string", from: 1, bytes: 30 },
      { form: "bytes", from: "structure", bytes: 16 },
    );
    const view = new DataView(planBytes(plan).buffer);
    const { offsets } = recordLayout("engine_capture");
    const u8 = (at: number) => Array.from({ length: 4 }, (_, i) => view.getUint8(at + i));
    const u16 = (at: number) => Array.from({ length: 4 }, (_, i) => view.getUint16(at + 2 * i, true));
    expect([view.getUint16(offsets.room, true), view.getUint8(offsets.parts), view.getUint8(offsets.walks)]).toEqual([
      256, 3, 0,
    ]);
    expect(u8(offsets.form)).toEqual([ENGINE_FORM.array, ENGINE_FORM.string, ENGINE_FORM.bytes, 0]);
    expect(u8(offsets.source)).toEqual([2, 1, ENGINE_SOURCE.structure, 0]);
    expect(u8(offsets.count_argument)).toEqual([3, 0, 0, 0]);
    expect([u16(offsets.at), u16(offsets.bytes)]).toEqual([
      [0, 64, 94, 0],
      [64, 30, 16, 0],
    ]);
    expect(u16(offsets.element_bytes)).toEqual([4, 0, 0, 0]);
    const led = capturePlan(part(8), { form: "bytes", from: 1, bytes: 8, follow: [16, 0, 24] });
    const pointers = new DataView(planBytes(led).buffer);
    expect(Array.from({ length: 4 }, (_, i) => pointers.getUint8(offsets.follows + i))).toEqual([0, 3, 0, 0]);
    expect(Array.from({ length: 6 }, (_, i) => pointers.getUint16(offsets.follow + 2 * i, true))).toEqual([
      0, 0, 0, 16, 0, 24,
    ]);
    const rest = new DataView(planBytes(capturePlan(part(8), { form: "bytes", from: 1, bytes: 8, skip: 232 })).buffer);
    expect(Array.from({ length: 4 }, (_, i) => rest.getUint16(offsets.skip + 2 * i, true))).toEqual([0, 232, 0, 0]);
    const batch = new DataView(planBytes(capturePlan({ form: "batch", offsets: BATCH })).buffer);
    expect(batch.getUint8(offsets.walks)).toBe(1);
    expect(Array.from({ length: 4 }, (_, i) => batch.getUint16(offsets.batch_tokens + 2 * i, true))).toEqual([
      0, 24, 32, 40,
    ]);
  });

  test("has the numbers of an operand behind its parts, and says how to find them", () => {
    const plan = capturePlan(part(64), { ...part(96), follow: [16, 0] } as CapturePart, INDEXES);
    const bytes = recordLayout("engine_indexes").bytes + ENGINE.many_runs * recordLayout("engine_index_run").bytes;
    expect(plan).toMatchObject({ at: [0, 64, 256], bytes: 256 + bytes, room: 256 + bytes });
    const view = new DataView(planBytes(plan).buffer);
    const { offsets } = recordLayout("engine_capture");
    expect([view.getUint8(offsets.parts), view.getUint8(offsets.walks)]).toEqual([2, 2]);
    expect(Array.from({ length: 14 }, (_, i) => view.getUint16(offsets.graph_count + 2 * i, true))).toEqual([
      4, 16, 42, 80, 160, 232, 8, 112, 2, 1, 17, 248, 26, 27,
    ]);
    expect(() => capturePlan(part(600), INDEXES)).toThrow(RangeError);
  });
});

test("a plan with rows of numbers has them alone, and says how they are found", () => {
  const offsets = { operand: 160, name: 256, type: 1, sizes: 16, strides: 48, data: 248, narrowType: 26 };
  const rows: CapturePart = { form: "rows", from: 1, offsets };
  const plan = capturePlan(rows);
  const head = recordLayout("engine_rows").bytes;
  expect(plan).toMatchObject({ bytes: head + ENGINE.rows_long_bytes, least: head + ENGINE.rows_short_bytes });
  const view = new DataView(planBytes(plan).buffer);
  const { offsets: places } = recordLayout("engine_capture");
  expect([places.walks, places.numbers_argument].map((place) => view.getUint8(place))).toEqual([ENGINE_WALK.rows, 1]);
  const fields = [
    "node_operand",
    "tensor_name",
    "tensor_type",
    "tensor_elements",
    "tensor_strides",
    "tensor_data",
  ] as const;
  expect(fields.map((field) => view.getUint16(places[field], true))).toEqual([160, 256, 1, 16, 48, 248]);
  expect(view.getUint16(places.narrow_type, true)).toBe(26);
});

describe("a plan with the blocks of a step", () => {
  const BLOCKS: CapturePart = {
    form: "blocks",
    offsets: {
      ...{ query: 0, cache: 1, starts: 4, lengths: 5, window: 16, table: 24 },
      ...{ storage: 17, sizes: 64, strides: 104, offset: 144, data: 18 },
    },
  };

  test("has them behind its parts, of which it may have the most there are, and without which a record may be", () => {
    const plan = capturePlan(...Array.from({ length: ENGINE.parts }, () => part(32)), BLOCKS);
    const behind =
      recordLayout("engine_blocks").bytes +
      ENGINE.block_requests * recordLayout("engine_block_request").bytes +
      ENGINE.block_runs * recordLayout("engine_index_run").bytes;
    const bytes = ENGINE_ROOM.compact + behind;
    expect(plan).toMatchObject({ at: [0, 32, 64, 96, ENGINE_ROOM.compact], bytes, least: ENGINE_ROOM.compact });
  });

  test("says how they are found, and leaves the places of its parts as they are", () => {
    const plan = capturePlan(...Array.from({ length: ENGINE.parts }, () => part(32)), BLOCKS);
    const view = new DataView(planBytes(plan).buffer);
    const { offsets } = recordLayout("engine_capture");
    expect([view.getUint8(offsets.parts), view.getUint8(offsets.walks)]).toEqual([ENGINE.parts, ENGINE_WALK.blocks]);
    expect(Array.from({ length: 4 }, (_, i) => view.getUint8(offsets.query_argument + i))).toEqual([0, 1, 4, 5]);
    expect(Array.from({ length: 7 }, (_, i) => view.getUint16(offsets.window_place + 2 * i, true))).toEqual([
      16, 24, 17, 64, 104, 144, 18,
    ]);
    const lists = [offsets.at, offsets.bytes].map((offset) =>
      Array.from({ length: ENGINE.parts }, (_, i) => view.getUint16(offset + 2 * i, true)),
    );
    expect(lists).toEqual([
      [0, 32, 64, 96],
      [32, 32, 32, 32],
    ]);
  });
});

test("a plan with the numbers of a tensor has them behind its parts, and says how to find them", () => {
  const tensor = { storage: 16, strides: 104, offset: 144, elements: 152, type: 160, data: 17 };
  const numbers: CapturePart = { form: "numbers", from: 2, offsets: { ...tensor, narrowType: 3, wideType: 4 } };
  const plan = capturePlan(part(56), part(112), numbers);
  const bytes = recordLayout("engine_indexes").bytes + ENGINE.least_runs * recordLayout("engine_index_run").bytes;
  expect(plan).toMatchObject({ at: [0, 56, 256], bytes: 256 + bytes, least: 256 + bytes });
  const view = new DataView(planBytes(plan).buffer);
  const { offsets } = recordLayout("engine_capture");
  const u16 = (...names: readonly (keyof typeof offsets)[]) => names.map((name) => view.getUint16(offsets[name], true));
  expect([view.getUint8(offsets.parts), view.getUint8(offsets.walks)]).toEqual([2, ENGINE_WALK.numbers]);
  expect(u16("numbers_argument", "torch_storage", "torch_strides", "torch_offset", "torch_data")).toEqual([
    2, 16, 104, 144, 17,
  ]);
  expect(u16("tensor_elements", "tensor_type", "narrow_type", "wide_type")).toEqual([152, 160, 3, 4]);
});

describe("the table of captures", () => {
  const probe = { symbol: "f", offset: 0n, isReturn: false, probe: 1, capture: capturePlan() };

  test("gives a probe its number once, and another to another engine, probe, side or plan", () => {
    const written: number[] = [];
    const table = captureTable({ update: (key) => void written.push(key[0] ?? -1) });
    const numbers = [
      table.numberOf(0, probe),
      table.numberOf(0, { ...probe, symbol: "an alias", offset: 8n }),
      table.numberOf(1, probe),
      table.numberOf(0, { ...probe, probe: 2 }),
      table.numberOf(0, { ...probe, isReturn: true }),
      table.numberOf(0, { ...probe, capture: capturePlan(part(8)) }),
    ];
    expect(numbers).toEqual([0, 0, 1, 2, 3, 4]);
    expect(written).toEqual([0, 1, 2, 3, 4]);
  });

  test("is refused more than the kernel program has room for", () => {
    const table = captureTable({ update: () => undefined });
    for (let i = 0; i < ENGINE.captures; i++) table.numberOf(0, { ...probe, probe: i });
    expect(() => table.numberOf(1, probe)).toThrow("is full");
  });
});
