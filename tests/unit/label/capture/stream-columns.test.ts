import { describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openCapture } from "../../../../src/label/capture/capture.ts";
import { scanColumns } from "../../../../src/label/capture/stream-columns.ts";
import { ORIGIN, writeStream } from "../hand-made-run.ts";

const row = (timestamp_ns: bigint, pss_bytes: bigint | null) => ({
  timestamp_ns,
  pid: 7,
  role: "target" as const,
  pss_bytes,
});

async function scanned(runDir: string) {
  const capture = await openCapture(runDir);
  const seen: unknown[] = [];
  await scanColumns(
    capture,
    "process",
    ["timestamp_ns", "role", "pss_bytes"],
    ({ timestamp_ns, role, pss_bytes }, n) => {
      for (let i = 0; i < n; i++) {
        const low = timestamp_ns.words[2 * i] ?? 0;
        seen.push([low, role.texts[role.words[i] ?? 0], pss_bytes.valid?.[i] === 0 ? null : pss_bytes.words[2 * i]]);
      }
    },
  );
  return { seen, skipped: capture.skipped };
}

describe("columns of a stream", () => {
  const first = Number(ORIGIN & 0xffffffffn);

  test("come segment by segment in the order in which they were written", async () => {
    const runDir = mkdtempSync(join(tmpdir(), "mrm-columns-"));
    writeStream(runDir, "process", [row(ORIGIN, 5n), row(ORIGIN + 1n, null)]);
    writeStream(runDir, "process", [row(ORIGIN + 2n, 9n)], 1);
    expect((await scanned(runDir)).seen).toEqual([
      [first, "target", 5],
      [first + 1, "target", null],
      [first + 2, "target", 9],
    ]);
  });

  test("of a segment that is broken are left out, and it is named", async () => {
    const runDir = mkdtempSync(join(tmpdir(), "mrm-columns-"));
    const broken = writeStream(runDir, "process", [row(ORIGIN, 5n)]);
    writeStream(runDir, "process", [row(ORIGIN + 2n, 9n)], 1);
    const bytes = readFileSync(broken);
    writeFileSync(broken, bytes.fill(0xff, 4, 40));
    const { seen, skipped } = await scanned(runDir);
    expect(seen).toEqual([[first + 2, "target", 9]]);
    expect(skipped.map(({ stream, path }) => [stream, path])).toEqual([["process", broken]]);
  });
});
