import { afterAll, afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { tableBatches } from "../../../src/columnar/read/table-batches.ts";
import { rowsFromBatch } from "../../../src/columnar/rows.ts";
import { writeModel } from "../../../src/demo/model/write-model.ts";
import { tableFiles } from "../../../src/run-directory/table-files.ts";
import type { RowOf } from "../../../src/schema/row.ts";
import type { RunJson } from "../../../src/schema/run-json.ts";
import { fetchLlamaServer } from "../../fixtures/llama-server.ts";
import { endLeftRuns, jsonOf, outputFolder, QUICK, runCli } from "./cli.ts";

setDefaultTimeout(120_000);

const output = outputFolder();
afterAll(() => rmSync(output, { recursive: true }));
afterEach(endLeftRuns);

const server = await fetchLlamaServer();
if (!server.ok) process.stderr.write(`skipped: a drawing of a server of four slots: ${server.reason}\n`);

function rowsOf<T extends "kv_block_lifecycle" | "request_figures" | "sequence_figures">(
  runDir: string,
  table: T,
): RowOf<T>[] {
  return tableFiles(runDir, table).flatMap((path) => [...tableBatches(path, table)].flatMap(rowsFromBatch));
}

test.skipIf(!server.ok)("the rows of a server of four slots are drawn slot by slot, with their requests", async () => {
  if (!server.ok) throw new Error(server.reason);
  const model = join(output, "model.gguf");
  await writeModel({ params: "1m", type: "f16", seed: 1 }, model);
  const asked = ["--serve", "1s", "--clients", "5", "--request-tokens", "30", "--ebpf", "engine", "--json"];
  const command = server.command(model, "{port}", 1024, { slots: 4, unified: true });
  const ended = await runCli(["run", ...asked, ...QUICK, "--output", output, "--", ...command], { env: server.env });
  const { run_dir } = jsonOf(ended) as unknown as RunJson;
  const rows = rowsOf(run_dir, "kv_block_lifecycle");
  const requests = rowsOf(run_dir, "request_figures");
  const [{ tensor } = { tensor: null }] = rows;

  const { stdout } = await runCli(["show", "--kv", run_dir]);
  const lines = stdout.split("\n");
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
  const slots = new Set(rows.map(({ sequence_id }) => sequence_id));
  expect([...slots].sort()).toEqual([0, 1, 2, 3]);
  for (const slot of slots) {
    const head = lines.findIndex((line) => line.startsWith(`sequence ${slot}: `));
    const ofSlot = rows.filter((row) => row.sequence_id === slot && row.tensor === tensor);
    expect(lines[head]).toStartWith(`sequence ${slot}: ${ofSlot.length} rows written in `);
    const chart = (label: string): string =>
      lines
        .slice(head)
        .find((line) => line.startsWith(`  ${label} `))
        ?.slice(11) ?? "";
    // Each is drawn by its number, or by a bar where that has no room.
    const served = requests.filter(({ sequence_id }) => sequence_id === slot);
    const marks = chart("requests").match(/\d+|\|/g) ?? [];
    expect(marks.length).toBeGreaterThan(0);
    expect(marks.length).toBeLessThanOrEqual(served.length);
    for (const mark of marks)
      if (mark !== "|") expect(served.map(({ request_id }) => String(request_id))).toContain(mark);
    // A prompt, then an answer; what is there is given up when the server ends.
    expect(chart("life")).toMatch(/#.*\+/);
    expect(chart("changes").trim()).not.toBe("");
  }

  // The server has ended, so that nothing of it is in the cache.
  const sequences = rowsOf(run_dir, "sequence_figures");
  const fillings = Map.groupBy(rows, ({ filling }) => filling);
  expect(sequences.map(({ filling }) => filling).sort()).toEqual([...fillings.keys()].sort());
  for (const { filling, ...figure } of sequences) {
    const mine = fillings.get(filling) ?? [];
    const needs = mine.map(({ write_ns, last_read_ns }) => (last_read_ns ? last_read_ns - (write_ns ?? 0n) : 0n));
    const sum = (values: readonly (bigint | null)[]): bigint =>
      values.reduce<bigint>((total, x) => total + (x ?? 0n), 0n);
    expect(figure).toMatchObject({
      written_bytes: sum(mine.map(({ size_bytes }) => size_bytes)),
      needed_bytes: sum(mine.map(({ size_bytes, total_reads }) => (size_bytes ?? 0n) * (total_reads ?? 0n))),
      tokens: new Set(mine.map(({ position, write_ns }) => `${position} ${write_ns}`)).size,
      retention_max_ns: needs.toSorted((one, other) => Number(one - other)).at(-1) ?? null,
      ...{ open_bytes: 0n, sequence_id: mine[0]?.sequence_id ?? null },
    });
    expect(figure.most_bytes).toBeLessThanOrEqual(figure.written_bytes);
  }
});
