import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { schemaText } from "../../../src/commands/schema.ts";
import { readSavedRun } from "../../../src/compare/saved-run.ts";
import { MrmTraceError } from "../../../src/errors.ts";
import { readRunRecord } from "../../../src/experiment/run-record.ts";
import { readMetadata } from "../../../src/run-directory/metadata.ts";
import { runDetailsSchema } from "../../../src/schema/run-details.ts";
import { toJson } from "../../../src/schema/run-json.ts";
import { metadataJson } from "../../fixtures/run-metadata.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-metadata-"));
afterAll(() => rmSync(folder, { recursive: true }));

const path = join(folder, "metadata.json");
const write = (changes: object): void => writeFileSync(path, toJson({ ...metadataJson(), ...changes }));

describe("metadata.json", () => {
  test("reads back as it was written, times of the monotonic clock exact, with the keys of collectors beside the known", () => {
    write({ watch: { armed: 5 } });
    const { metadata, ledger } = readMetadata(path);
    expect(metadata).toMatchObject({
      machine_id: "vm",
      timing: { started_ns: 123_456_789_012_345_678n, started_at_utc: "2026-11-21T10:00:00.000Z" },
      generation: { context_length: null, output_tokens: 4213 },
      options: { budget: 1 },
      rows: { fault: 3 },
      watch: { armed: 5 },
    });
    expect(metadata).not.toHaveProperty("ledger");
    expect(ledger.length).toBeGreaterThan(0);
  });

  test.each([
    ["a target without its pid", { target: { command: [] } }],
    ["a time that is no number", { timing: { started_ns: "soon" } }],
    ["an experiment that is none", { experiment: { name: 5 } }],
    ["no validity", { validity: undefined }],
  ])("with %s is refused by all who read it, in the same words", (_what, changes) => {
    write(changes);
    writeFileSync(join(folder, "metrics.parquet"), "");
    writeFileSync(join(folder, "manifest.json"), '{"created_at_utc":"2026-11-21T10:01:00Z","files":[]}');
    for (const read of [() => readMetadata(path), () => readSavedRun(folder)]) {
      expect(read).toThrow(MrmTraceError);
      expect(read).toThrow(`cannot read ${path}: `);
    }
    expect(readRunRecord(folder)).toBeNull();
  });

  test("that is a pipe is refused by all who read it, and not waited for", () => {
    const run = mkdtempSync(join(folder, "pipe-"));
    expect(Bun.spawnSync(["mkfifo", join(run, "metadata.json"), join(run, "manifest.json")]).exitCode).toBe(0);
    expect(() => readMetadata(join(run, "metadata.json"))).toThrow("it is no regular file");
    expect(readRunRecord(run)).toBeNull();
  });

  test.each([
    ['{ "schema_version": ', "it is no whole JSON"],
    ["[]", "it is no JSON object"],
    ['{"schema_version":7}', "schema_version is not what mrm-trace writes there"],
    [toJson({ ...metadataJson(), validity: "good" }), "validity is not what mrm-trace writes there"],
    [toJson({ ...metadataJson(), validity: undefined }), "validity is not what mrm-trace writes there"],
  ])("that was changed to %p is refused in words of its own, with the command that makes it anew", (text, why) => {
    writeFileSync(path, text);
    expect(() => readMetadata(path)).toThrow(
      expect.objectContaining({
        code: "data_quality",
        message: `cannot read ${path}: ${why}`,
        hint: `derive it again, as it was changed or cut: mrm-trace analyse ${folder}`,
      }),
    );
  });

  test("has a JSON Schema", async () => {
    const schema = JSON.parse(await schemaText("metadata", false));
    expect(schema.properties).toHaveProperty("timing");
    expect(schema.required).toEqual(expect.arrayContaining(["run_id", "ledger", "observer", "target_use"]));
  });
});

test("the details of a recording are checked where they are read again, and kept as they are elsewhere", () => {
  const imported = { file: "raw/trace.parquet", period: null, from: "/t" } as const;
  expect(z.decode(runDetailsSchema, { imported, clock: { ticks: 3 } })).toEqual({ imported, clock: { ticks: 3 } });
  for (const broken of [
    { imported: { file: "/etc/shadow", period: 1, from: "" } },
    { imported_from: 5 },
    { host: { machine_id: 7 } },
    { thermal: { throttle_events: "some" } },
  ]) {
    expect(runDetailsSchema.safeParse(broken).success).toBe(false);
  }
});
