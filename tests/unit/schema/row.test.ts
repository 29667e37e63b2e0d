import { expect, test } from "bun:test";
import { batchFromRows } from "../../../src/columnar/rows.ts";
import { columnsOf, TABLES, type TableName } from "../../../src/schema/columns.ts";
import { type EveryColumn, nullsOf, type RowOf, wordsOf } from "../../../src/schema/row.ts";

// Each line below a mark "@ts-expect-error" must not compile: if it did, the type check would fail at the mark.

const step: RowOf<"step"> = {
  timestamp_ns: 1n,
  end_ns: null,
  pid: 1,
  tid: 1,
  engine: null,
  kind: "decode",
  n_tokens: 5,
  n_sequences: null,
  position_first: null,
  sequence_id: null,
  result: null,
  detail: null,
};

test("a row has the values of its table's columns", () => {
  const { columns } = batchFromRows("step", [step]);
  expect(Object.keys(columns)).toEqual(columnsOf("step").map(({ name }) => name));
  expect(columns.n_tokens).toEqual({ data: new Uint32Array([5]) });
  expect(columns.end_ns).toEqual({ data: new BigUint64Array(1), valid: new Uint8Array(1) });
  expect(columns.kind).toEqual({ codes: new Uint32Array(1), values: ["decode"] });
});

test("what may be null has a null for each such column, and for no other", () => {
  const none = nullsOf("step");
  expect(Object.values(none).every((value) => value === null)).toBe(true);
  const nullable = columnsOf("step").filter((column) => column.nullable === true);
  expect(Object.keys(none)).toEqual(nullable.map(({ name }) => name));
  // @ts-expect-error: pid is never null
  expect(none.pid).toBeUndefined();
});

test("a row with a name that the table does not know does not compile", () => {
  // @ts-expect-error: the column is n_tokens
  const { columns } = batchFromRows("step", [{ ...step, n_token: 5 }]);
  expect(columns).not.toHaveProperty("n_token");
});

test("a row without one of the columns does not compile, whether it may be null or not", () => {
  const { detail, ...withoutDetail } = step;
  const { pid, ...withoutPid } = step;
  // @ts-expect-error: detail may be null, and must be given
  const open: RowOf<"step"> = withoutDetail;
  // @ts-expect-error: pid is missing
  const nobody: RowOf<"step"> = withoutPid;
  expect([detail, pid, open.pid, nobody.kind]).toEqual([null, 1, 1, "decode"]);
});

test("the nulls of a table are its columns that may be null, and make no row of those that may not", () => {
  expect(Object.keys(nullsOf("step"))).toEqual(
    columnsOf("step").flatMap(({ name, nullable }) => (nullable ? name : [])),
  );
  expect(nullsOf("fault")).toEqual({});
  // @ts-expect-error: a time, a process, a thread and a kind are missing
  const row: RowOf<"step"> = nullsOf("step");
  expect(row.detail).toBeNull();
});

test("null, or a value of another type, compiles only where the table has it", () => {
  const rows: RowOf<"step">[] = [
    // @ts-expect-error: pid is never null
    { ...step, pid: null },
    // @ts-expect-error: times have 64 bits
    { ...step, timestamp_ns: 1 },
    // @ts-expect-error: no such kind of step
    { ...step, kind: "dekode" },
    // @ts-expect-error: a string
    { ...step, detail: 5 },
  ];
  expect(rows).toHaveLength(4);
});

test("columns laid out by hand compile only where they are those of the table", () => {
  const columns = Object.fromEntries(columnsOf("step").map(({ name }) => [name, 0])) as EveryColumn<"step">;
  const { detail: _, ...withoutDetail } = columns;
  const rest: EveryColumn<"step", "detail"> = withoutDetail;
  // @ts-expect-error: detail is missing
  const open: EveryColumn<"step"> = withoutDetail;
  // @ts-expect-error: the column is n_tokens
  const surplus: EveryColumn<"step"> = { ...columns, n_token: 0 };
  expect([rest, open]).toEqual([withoutDetail, withoutDetail]);
  expect(surplus).toHaveProperty("n_token");
});

test("rows of another table do not compile", () => {
  // @ts-expect-error: rows of step
  expect(batchFromRows("mapping", [step]).rows).toBe(1);
});

test("a column of words lists them in the order of the table, and its doc has each", () => {
  expect(wordsOf("tensor", "kind")).toEqual([
    "tensor",
    "graph",
    "file",
    "elsewhere",
    "layout",
    "tied",
    "buffer",
    "usage",
    "free",
    "clear",
  ]);
  // @ts-expect-error: any text
  expect(wordsOf("tensor", "name")).toEqual([]);
  for (const table of Object.keys(TABLES) as TableName[]) {
    for (const { words = {}, doc } of columnsOf(table))
      for (const word of Object.keys(words)) expect(doc).toContain(word);
  }
});
