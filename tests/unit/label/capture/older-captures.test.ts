import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { labelRun } from "../../../../src/label/label-run.ts";
import type { RowOf } from "../../../../src/schema/row.ts";
import { openDatabase } from "../../../../src/sql/database.ts";
import type { Given } from "../../../fixtures/row-with.ts";
import { ORIGIN, writeStream } from "../hand-made-run.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const ids = { pid: 7, tid: 7 };
const CACHE = 0x7f0000000000n;
const BUFFER = { buffer: 1n, buffer_addr: CACHE, buffer_size_bytes: 512n };

function cache(name: string, addr: bigint, more: Given<"tensor">): Given<"tensor"> {
  const what: Given<"tensor"> = {
    kind: "tensor",
    name,
    region_type: "kv_cache",
    shape: "32x4x1x1",
    evidence: "engine_probe",
  };
  return { ...ids, ...BUFFER, ...what, timestamp_ns: ORIGIN, addr, size_bytes: 256n, ...more };
}

/** A cache of K and V and a batch of three tokens; `graph` says what the graph told. */
type Layout = RowOf<"tensor">["kv_layout"];

async function labelled(
  engine: string | null,
  layouts: readonly [Layout, Layout],
  graph: Given<"step">[],
  drop: string[],
) {
  const runDir = mkdtempSync(join(tmpdir(), "mrm-older-"));
  folders.push(runDir);
  await using database = await openDatabase();
  const leave = async (path: string, left: readonly string[]) => {
    if (left.length === 0) return;
    // As an older version wrote it: without the columns that came later.
    const from = `SELECT * EXCLUDE (${left.join(", ")}) FROM read_parquet('${path}')`;
    await database.run(`COPY (${from}) TO '${path}.older' (FORMAT parquet)`);
    renameSync(`${path}.older`, path);
  };
  const tensors = [
    cache("cache_k_l0", CACHE, { engine, kv_layout: layouts[0], logical_id: "layer0.k" }),
    cache("cache_v_l0", CACHE + 256n, { engine, kv_layout: layouts[1], logical_id: "layer0.v" }),
  ];
  await leave(writeStream(runDir, "tensor", tensors), drop.length === 0 ? [] : [...drop, "kv_layout", "kv_row_bytes"]);
  const step = (kind: RowOf<"step">["kind"], time: bigint, more: Given<"step">): Given<"step"> => ({
    ...ids,
    engine,
    kind,
    timestamp_ns: ORIGIN + time,
    end_ns: ORIGIN + time + 5n,
    ...more,
  });
  const batch = { n_tokens: 3, n_sequences: 1, position_first: 0, result: 0n };
  const path = JSON.stringify({ path: "/lib/engine.so" });
  const told = graph.map((row) => step("graph", 5n, row));
  const steps = [step("engine", 1n, { detail: path }), ...told, step("decode", 9n, batch)];
  await leave(writeStream(runDir, "step", steps), drop);
  const { engines, kvRows, capture } = await labelRun(database, runDir, "run");
  expect(capture.skipped).toEqual([]);
  const rows = await database.rows(
    `SELECT address - ${CACHE} AS at FROM read_parquet('${join(runDir, "kv_block_lifecycle.parquet")}') ORDER BY block_id`,
  );
  return { engines, forms: kvRows.tensors.map(({ layout }) => layout.form), offsets: rows.map((row) => row.at) };
}

const flash = (value: boolean): Given<"step">[] => [{ detail: JSON.stringify({ n_nodes: 3, flash_attention: value }) }];
const LAST_IN_ROWS = [0n, 256n, 64n, 320n, 128n, 384n];

test("an older capture names no engine and no layout: the graphs tell how V lies", async () => {
  const on = await labelled(null, [null, null], flash(true), ["engine"]);
  expect(on).toEqual({
    engines: [
      {
        name: "llama.cpp",
        objects: ["/lib/engine.so"],
        settings: { flash_attention: true },
        build: null,
        build_id: null,
        context: null,
      },
    ],
    forms: ["rows", "rows"],
    offsets: LAST_IN_ROWS,
  });
  const off = await labelled(null, [null, null], flash(false), ["engine"]);
  expect(off.forms).toEqual(["rows", "columns"]);
  expect(off.offsets).toEqual([0n, 256n, 64n, 258n, 128n, 260n]);
  const untold = await labelled(null, [null, null], [], ["engine"]);
  expect(untold.offsets).toEqual([0n, null, 64n, null, 128n, null]);
});

test("a capture that names its engine is told by its own columns alone", async () => {
  const { forms, engines } = await labelled("paper", ["columns", null], flash(true), []);
  expect(forms).toEqual(["columns", "unknown"]);
  expect(engines).toEqual([
    { name: "paper", objects: ["/lib/engine.so"], settings: {}, build: null, build_id: null, context: null },
  ]);
});
