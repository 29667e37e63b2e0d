/** What a run says, by the package: `bun answer.ts RUN_DIR`. */
import { openRun } from "mrm-trace";

using run = openRun(process.argv[2] ?? ".");
process.stdout.write(`${run.metadata.run_id}: ${run.metadata.validity.class}\n`);

// Figures with a value, by class of data.
for (const { metric, region_type, phase, step, value, lo, hi, unit, status } of run.metrics()) {
  if (status !== "ok" || value === null) continue;
  const when = step === null || step === "all" ? phase : step;
  const [figure, from, to] = [value, lo, hi].map((number) => Number(number?.toPrecision(4)));
  process.stdout.write(`${metric} ${region_type} ${when}: ${figure} [${from}, ${to}] ${unit}\n`);
}

// An Arrow table has the columns of docs/columns.md; `batches` gives one of many rows in pieces.
const regions = run.table("region_map");
process.stdout.write(`${regions.numRows} regions\n`);
let stores = 0;
for (const batch of run.batches("trace")) {
  const operations = batch.getChild("op_type");
  for (let row = 0; row < batch.numRows; row++) if (operations?.get(row) === "store") stores += 1;
}
process.stdout.write(`${stores} stores seen\n`);
