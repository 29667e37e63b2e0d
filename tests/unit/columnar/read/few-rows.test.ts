import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { columnRoom, roomBatch } from "../../../../src/columnar/column-room.ts";
import { fewRows } from "../../../../src/columnar/read/few-rows.ts";
import { TooLarge } from "../../../../src/columnar/read/refusal.ts";
import { readSavedRun } from "../../../../src/compare/saved-run.ts";
import { toJson } from "../../../../src/schema/run-json.ts";
import { encodeParquet } from "../../../fixtures/encode-parquet.ts";
import { metadataJson } from "../../../fixtures/run-metadata.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-few-"));
afterAll(() => rmSync(folder, { recursive: true }));

const MANY = (1 << 18) + 1;
const many = join(folder, "metrics.parquet");
const room = columnRoom("fault", MANY);
room.rows = MANY;
writeFileSync(many, encodeParquet("fault", [roomBatch("fault", room)]));

test("a file that says that it has more rows than a table of few is refused before one is read", () => {
  let read = 0;
  const parts = (function* () {
    yield ++read;
  })();
  expect(() => [...fewRows(many, parts, () => 1)]).toThrow(TooLarge);
  expect(read).toBe(0);
});

test("rows are counted as they come where the file says nothing", () => {
  const path = join(folder, "none");
  writeFileSync(path, "");
  const parts = [{ rows: MANY - 1 }, { rows: 1 }];
  expect([...fewRows(path, parts.slice(0, 1), ({ rows }) => rows)]).toHaveLength(1);
  expect(() => [...fewRows(path, parts, ({ rows }) => rows)]).toThrow(`${MANY} rows are more than the ${MANY - 1}`);
});

test("a run of more figures than a run has is refused as damaged", () => {
  writeFileSync(join(folder, "metadata.json"), toJson(metadataJson()));
  expect(() => readSavedRun(folder)).toThrow(`cannot read ${many}: ${MANY} rows are more than`);
});
