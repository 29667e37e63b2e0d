/** memray captures for `import`. */
import type { Batch } from "../../columnar/batch.ts";
import type { Imported, Importer } from "../importer.ts";
import { captureWarnings, detailsOf, IDENTIFIES, MEMRAY_BLIND_TO } from "./capture-report.ts";
import { type CaptureSummary, captureLedger } from "./capture-summary.ts";
import { beginsAsCapture } from "./format/capture-file.ts";
import type { CaptureHeader } from "./format/header.ts";
import { readCapture } from "./read-capture.ts";

/** The capture's own span, on the time axis of its rows: from 0 to the last moment that it tells of. */
function spanNs(header: CaptureHeader, last_ns: bigint): bigint {
  const noted = BigInt(Math.max(0, header.endMs - header.startMs)) * 1_000_000n;
  return noted > last_ns ? noted : last_ns;
}

/** Latest memory record of a batch; 0 for a batch of another table. */
function lastTime(batch: Batch): bigint {
  const column = batch.table === "allocation_memory" ? batch.columns.timestamp_ns : undefined;
  if (column === undefined || !("data" in column)) return 0n;
  return BigInt(column.data[batch.rows - 1] ?? 0);
}

export const memrayImporter: Importer = {
  format: "memray capture",
  matches: beginsAsCapture,
  async read(path, sink): Promise<Imported> {
    const reading = readCapture(path);
    let last_ns = 0n;
    for (const batch of reading.batches) {
      const time = lastTime(batch);
      if (time > last_ns) last_ns = time;
      sink.onBatch(batch);
      await sink.ready();
    }
    const { header } = reading;
    const summary = reading.summary() as CaptureSummary;
    return {
      collector: "memray",
      sources: [],
      identifies: IDENTIFIES,
      blindTo: MEMRAY_BLIND_TO,
      ledger: captureLedger(header.pid, header, summary, "imported"),
      warnings: captureWarnings(path, header, summary),
      command: header.commandLine === "" ? [] : header.commandLine.split(" "),
      first_ns: 0n,
      last_ns: spanNs(header, last_ns),
      details: {
        format: "memray capture",
        times_count_from: "the start of the capture",
        ...detailsOf(header, summary),
      },
    };
  },
};
