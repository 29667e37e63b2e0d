import { afterAll, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openSource } from "../../../src/export/run-source.ts";
import { tableFiles } from "../../../src/run-directory/table-files.ts";
import { metadataJson } from "../../fixtures/run-metadata.ts";
import { writeHandMadeRun, writeStream } from "../label/hand-made-run.ts";

const made: string[] = [];
afterAll(() => {
  for (const path of made) rmSync(path, { recursive: true });
});

/** A recording; with metadata.json where it has a text for it. */
function runWith(metadata: string | null): string {
  const runDir = writeHandMadeRun();
  made.push(runDir);
  if (metadata !== null) writeFileSync(join(runDir, "metadata.json"), metadata);
  return runDir;
}

describe("a run as exports read it", () => {
  test("must have been analysed, and says how", () => {
    const runDir = runWith(null);
    let error: unknown;
    try {
      openSource(runDir);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({
      code: "data_quality",
      message: expect.stringContaining("has no figures yet"),
      hint: expect.stringContaining(`mrm-trace analyse ${runDir}`),
    });
    expect(() => openSource(runWith("{"))).toThrow("cannot read");
    expect(() => openSource(join(runDir, "capture"))).toThrow("is no run");
  });

  test("has the tables that have files, and none of the others", () => {
    const run = openSource(runWith(JSON.stringify(metadataJson())));
    expect(run.tables).toEqual(["mapping", "tensor", "step", "access", "watch"]);
    expect([run.countRows("access"), run.countRows("fault")]).toEqual([9, 0]);
    expect([...run.rows("fault")]).toEqual([]);
    expect([...run.rows("watch")].map(({ watch_id }) => watch_id)).toEqual([1]);
  });

  test("goes on without a segment that cannot be read, and names it", () => {
    const runDir = runWith(JSON.stringify(metadataJson()));
    const [broken = ""] = tableFiles(runDir, "access");
    writeStream(runDir, "access", [{ pid: 5 }], 1);
    writeFileSync(broken, "no parquet");
    const run = openSource(runDir);
    expect([...run.rows("access")].map(({ pid }) => pid)).toEqual([5]);
    expect([...run.unreadable]).toEqual([broken]);
    expect(run.countRows("access")).toBe(1);
  });

  test("ends at a derived file that cannot be read: analysing makes it anew", () => {
    const runDir = runWith(JSON.stringify(metadataJson()));
    writeFileSync(join(runDir, "metrics.parquet"), "no parquet");
    expect(() => [...openSource(runDir).rows("metrics")]).toThrow("metrics.parquet cannot be read");
  });
});
