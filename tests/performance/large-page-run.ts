/** A finished run with as many regions as the page shows, and so many rows of the trace that it has to sum them. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { MetricRow } from "../../src/analyse/figures/metric-row.ts";
import { writeMetrics } from "../../src/analyse/figures/write-metrics.ts";
import { writeParquetFile } from "../../src/columnar/write/parquet-writer.ts";
import { toJson } from "../../src/schema/run-json.ts";
import { openDatabase, quote } from "../../src/sql/database.ts";
import { writePageRun } from "../fixtures/page-run.ts";
import { batchWith, type Given } from "../fixtures/row-with.ts";
import { metadataJson } from "../fixtures/run-metadata.ts";
import { demoReport } from "../fixtures/run-report.ts";

const REGIONS = 10_000;
const REGION_BYTES = 65_536;
const FIRST_ADDR = 0x7f5555550000n;
const LAYERS = 80;
const RUN_NS = 33_000_000_000n;
const CLASSES = ["weight", "kv_cache", "activation", "runtime"] as const;

function regions(begin: bigint): Given<"region_map">[] {
  return Array.from({ length: REGIONS }, (_, i) => {
    const name = `blk.${i % LAYERS}.attn_output.${i}.weight`;
    return {
      region_id: BigInt(i + 1),
      region_type: CLASSES[Math.floor((CLASSES.length * i) / REGIONS)] ?? "runtime",
      name,
      tensor: name,
      layer: i % LAYERS,
      addr: FIRST_ADDR + BigInt(i * REGION_BYTES),
      size_bytes: BigInt(REGION_BYTES),
      mapping_kind: "anon",
      access_count: 1n,
      pid: 1,
      birth_ns: begin,
      death_ns: begin + RUN_NS,
      evidence: "engine_probe",
    };
  });
}

/** Writes it and returns its folder. @param rows of the trace, anywhere in the regions */
export async function writeLargePageRun(rows: number): Promise<string> {
  const { heldPath, metadata } = writePageRun();
  const begin = BigInt(metadata.timing.started_ns);
  writeFileSync(join(heldPath, "metadata.json"), toJson(metadataJson()));
  // The figures of a page are those of its report.
  writeMetrics(heldPath, demoReport().metrics as readonly MetricRow[]);
  writeParquetFile(join(heldPath, "region_map.parquet"), "region_map", [batchWith("region_map", regions(begin))]);
  mkdirSync(join(heldPath, "trace"), { recursive: true });
  await using database = await openDatabase();
  await database.run(
    `COPY (SELECT (1 + i % ${REGIONS})::UINTEGER AS region_id,
         (${FIRST_ADDR} + (i % ${REGIONS}) * ${REGION_BYTES} + hash(i) % ${REGION_BYTES})::UBIGINT AS address,
         CASE WHEN i % 7 = 0 THEN 'store' ELSE 'load' END AS op_type,
         (${begin} + (i * ${RUN_NS}::HUGEINT) // ${rows})::UBIGINT AS timestamp_ns, 1::UBIGINT AS period
       FROM range(${rows}) AS made(i))
     TO ${quote(join(heldPath, "trace", "part-00000.parquet"))} (FORMAT parquet, COMPRESSION zstd)`,
  );
  return heldPath;
}
