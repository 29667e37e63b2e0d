/** `arrow`: one table as an Arrow file (IPC, also called Feather 2), with the unit and meaning of each column. */
import { RecordBatchFileWriter } from "apache-arrow";
import { toRecordBatch } from "../columnar/arrow/record-batches.ts";
import type { Batch } from "../columnar/batch.ts";
import type { RunTable } from "../run-directory/table-files.ts";
import type { ExportTask, FileFormat } from "./export-format.ts";
import type { NewFile } from "./new-file.ts";

/** Writes what the encoder makes while it makes it. @returns when it has made all; `failure` is what kept us from writing */
function drain(encoder: RecordBatchFileWriter, file: NewFile) {
  const draining: { readonly ended: Promise<void>; failure: unknown } = { ended: copy(), failure: null };
  async function copy(): Promise<void> {
    try {
      for await (const bytes of encoder) file.write(bytes);
    } catch (error) {
      draining.failure = error;
    }
  }
  return draining;
}

async function write({ run, table, goOn }: ExportTask, file: NewFile): Promise<void> {
  const encoder = new RecordBatchFileWriter();
  const draining = drain(encoder, file);
  const all = run.countRows(table);
  let done = 0;
  const add = async (batch: Batch<RunTable>): Promise<void> => {
    encoder.write(toRecordBatch(batch));
    done += batch.rows;
    // What was encoded is written meanwhile.
    await goOn(done, all === 0 ? null : done / all);
    if (draining.failure !== null) throw draining.failure;
  };
  for (const batch of run.batches(table)) await add(batch);
  // The schema is told by a batch.
  if (done === 0) await add({ table, rows: 0, columns: {} });
  encoder.finish();
  await draining.ended;
  if (draining.failure !== null) throw draining.failure;
}

export const arrow: FileFormat = { makes: "file", takes: ["table"], ending: ({ table }) => `${table}.arrow`, write };
