import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Collector } from "../../../src/collect/collector.ts";
import type { Batch } from "../../../src/columnar/batch.ts";
import { tableBatches } from "../../../src/columnar/read/table-batches.ts";
import { batchFromRows } from "../../../src/columnar/rows.ts";
import { record, type StopReason } from "../../../src/record/recorder.ts";
import { listSegments } from "../../../src/run-directory/segment-files.ts";
import { balances, type LedgerRow } from "../../../src/schema/ledger.ts";
import { ledgerRow } from "../../fixtures/ledger.ts";

function faults(from: number, rows: number): Batch {
  const numbers = Array.from({ length: rows }, (_, i) => BigInt(from + i));
  return batchFromRows(
    "fault",
    numbers.map((n) => ({ timestamp_ns: n, address: n * 4096n, ip: n, pid: 1, tid: 1, fault_flags: 1, cpu: 0 })),
  );
}

const ringRow = (kept: number): LedgerRow => ledgerRow({ stream: "fault", source: "fault", stage: "ring" }, kept, 0);

const inFiles = (runDir: string): number =>
  listSegments(runDir, "fault")
    .flatMap(({ path }) => [...tableBatches(path, "fault")])
    .reduce((sum, { rows }) => sum + rows, 0);

test("a recording ends with the last closing where something cannot be written later, and tells how much came after it", async () => {
  const runDir = mkdtempSync(join(tmpdir(), "mrm-full-"));
  Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=400k", "none", runDir]);
  try {
    let given = 0;
    const collector: Collector = {
      name: "fake",
      canRun: async () => ({ ok: true, sources: [], whyNotBetter: "", identifies: [], blindTo: "a fake" }),
      start: async () => {},
      batches() {
        given += 50;
        return [faults(given, 50)];
      },
      account: () => [ringRow(given)],
      stop: async () => ({ batches: [], ledger: [ringRow(given)] }),
    };
    let filled = false;
    const onPoll = (): void => {
      if (filled || listSegments(runDir, "fault").length === 0) return;
      filled = true;
      Bun.spawnSync(["dd", "if=/dev/zero", `of=${runDir}/filler`, "bs=1k"], { stderr: "ignore" });
    };
    const result = await record({
      runDir,
      collectors: [collector],
      isOwnProcess: true,
      starting: true,
      stopped: new Promise<StopReason>(() => {}),
      durationNs: 20e9,
      maxSizeBytes: 2 ** 40,
      onBatch: () => {},
      onPoll,
    });
    expect(result).toMatchObject({ reason: "disk", writeError: { code: "environment" } });
    expect(result.ledger.every((row) => balances(row) && row.dropped === 0)).toBe(true);
    const kept = result.ledger.find(({ stage }) => stage === "segments")?.kept ?? 0;
    expect(inFiles(runDir)).toBe(kept);
    expect([result.rows.fault, result.rows_after_end]).toEqual([kept, given - kept]);
    expect(result.end_ns - result.begin_ns).toBeLessThan(2_000_000_000n);
  } finally {
    Bun.spawnSync(["umount", runDir]);
    rmSync(runDir, { recursive: true });
  }
});
