import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { readSavedRun } from "../../../src/compare/saved-run.ts";
import { MrmTraceError } from "../../../src/errors.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-saved-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Metadata that looks right here and there. */
const metadata = fc.oneof(
  fc.json(),
  fc.string(),
  fc
    .record({
      run_id: fc.oneof(fc.string(), fc.integer()),
      model: fc.oneof(fc.record({ id: fc.string() }), fc.jsonValue()),
      machine_id: fc.jsonValue(),
      collectors: fc.jsonValue(),
      hardware: fc.oneof(fc.constant({}), fc.jsonValue()),
      software: fc.oneof(fc.constant({}), fc.jsonValue()),
      target: fc.oneof(fc.constant({ command: [], threads: null }), fc.jsonValue()),
      validity: fc.oneof(fc.constant({ class: "clean" }), fc.jsonValue()),
      options: fc.jsonValue(),
    })
    .map((value) => JSON.stringify(value)),
);

test("a run directory of any bytes is refused with its fix, and never anything worse", () => {
  fc.assert(
    fc.property(metadata, fc.uint8Array({ maxLength: 300 }), (text, bytes) => {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "metadata.json"), text);
      writeFileSync(join(folder, "metrics.parquet"), bytes);
      let error: unknown = null;
      try {
        readSavedRun(folder);
      } catch (reason) {
        error = reason;
      }
      expect(error).toBeInstanceOf(MrmTraceError);
      expect((error as MrmTraceError).hint).not.toBe("");
    }),
    { numRuns: 60 },
  );
});
