import { expect, test } from "bun:test";
import { columnRoom, roomBatch } from "../../../src/columnar/column-room.ts";
import { columnsOf } from "../../../src/schema/columns.ts";
import { codesOf } from "../../../src/schema/row.ts";

test("a room has an array of its column's type for every column, and halves and marks where they belong", () => {
  const room = columnRoom("access", 4);
  expect(Object.keys(room.data)).toEqual(columnsOf("access").map(({ name }) => name));
  expect([room.data.timestamp_ns, room.data.cpu, room.data.in_kernel]).toEqual([
    new BigUint64Array(4),
    new Uint16Array(4),
    new Uint8Array(4),
  ]);
  expect(Object.keys(room.words)).toEqual(["timestamp_ns", "address", "ip", "period", "data_src"]);
  expect(Object.keys(room.valid)).toEqual(["watch_id", "data_src", "weight_cycles"]);
  room.words.address[2] = 7;
  room.words.address[3] = 1;
  expect(room.data.address[1]).toBe((1n << 32n) + 7n);
  // @ts-expect-error: the column is address
  expect(room.data.adress).toBeUndefined();
  // @ts-expect-error: it always has a value
  expect(room.valid.address).toBeUndefined();
});

test("its batch has the rows so far, over the same memory, and no column that was left out", () => {
  const room = columnRoom("access", 4);
  room.rows = 2;
  room.data.op_type[1] = codesOf("access", "op_type").store;
  room.data.weight_cycles[1] = 40;
  room.valid.weight_cycles[1] = 1;
  const { table, rows, columns } = roomBatch("access", room, ["watch_id"]);
  expect([table, rows]).toEqual(["access", 2]);
  expect(columns).not.toHaveProperty("watch_id");
  expect(columns.op_type).toEqual({
    codes: new Uint32Array([0, 1]),
    values: ["load", "store", "load_store", "unknown"],
  });
  expect(columns.weight_cycles).toEqual({ data: new Uint32Array([0, 40]), valid: new Uint8Array([0, 1]) });
  room.data.pid[0] = 9;
  expect(columns.pid).toEqual({ data: new Uint32Array([9, 0]) });
});
