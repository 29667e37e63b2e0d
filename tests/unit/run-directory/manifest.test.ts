import { afterAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { MrmTraceError } from "../../../src/errors.ts";
import { writeFileAtomic } from "../../../src/run-directory/atomic-file.ts";
import { readManifest, writeManifest } from "../../../src/run-directory/manifest.ts";
import { toJson } from "../../../src/schema/run-json.ts";
import { metadataJson } from "../../fixtures/run-metadata.ts";

const root = mkdtempSync(join(tmpdir(), "mrm-manifest-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;
function runDir(files: Record<string, string | Uint8Array>): string {
  const run = join(root, `run-${count++}`);
  mkdirSync(run);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(run, path)), { recursive: true });
    writeFileSync(join(run, path), content);
  }
  return run;
}
const sha256 = (content: string | Uint8Array) => createHash("sha256").update(content).digest("hex");

describe("manifest.json", () => {
  test("lists every file with its size and digest, in order, and neither links nor unfinished files nor itself", async () => {
    const big = new Uint8Array(3_000_000).map((_, i) => i * 7);
    const run = runDir({
      "metrics.csv": "a\n",
      "capture/access/1-0.parquet": big,
      "capture/access/1-1.parquet.partial": "half",
      "trace/part-0.parquet": "x",
      "raw/perf.data": "",
      "manifest.json": "old",
    });
    symlinkSync("/etc/hostname", join(run, "link"));
    const written = await writeManifest(run, "run-x", new Date("2026-11-21T10:00:00.5Z"));
    expect(JSON.parse(readFileSync(join(run, "manifest.json"), "utf8"))).toEqual({
      manifest_schema_version: "1.0",
      run_id: "run-x",
      created_at_utc: "2026-11-21T10:00:00.500+00:00",
      files: [
        { path: "capture/access/1-0.parquet", size_bytes: 3_000_000, sha256: sha256(big), schema_version: "1.0" },
        { path: "metrics.csv", size_bytes: 2, sha256: sha256("a\n"), schema_version: "1.0" },
        { path: "raw/perf.data", size_bytes: 0, sha256: sha256("") },
        { path: "trace/part-0.parquet", size_bytes: 1, sha256: sha256("x"), schema_version: "1.0" },
      ],
    });
    expect(written.files).toHaveLength(4);
    expect(statSync(join(run, "manifest.json")).mode & 0o777).toBe(0o600);
    expect(readdirSync(run).filter((name) => name.endsWith(".partial"))).toEqual([]);
  });

  test("keeps what it first said of capture/, and describes what is derived anew", async () => {
    const run = runDir({ "capture/access/1-0.parquet": "rows", "capture/access/2-1.parquet": "more", a: "1" });
    const before = await writeManifest(run, "r");
    writeFileSync(join(run, "capture/access/1-0.parquet"), "other rows");
    rmSync(join(run, "capture/access/2-1.parquet"));
    writeFileSync(join(run, "capture/access/3-2.parquet"), "planted");
    writeFileSync(join(run, "a"), "12");
    const after = await writeManifest(run, "r");
    const captured = (files: typeof before.files) => files.filter(({ path }) => path.startsWith("capture/"));
    expect(captured(after.files)).toEqual(captured(before.files));
    expect(after.files.find(({ path }) => path === "a")).toMatchObject({ size_bytes: 2, sha256: sha256("12") });
  });

  test("that is damaged or names what is outside of the run is refused", async () => {
    const listing = (path: string) =>
      JSON.stringify({
        manifest_schema_version: "1.0",
        run_id: "r",
        created_at_utc: "",
        files: [{ path, size_bytes: 1, sha256: "0".repeat(64) }],
      });
    const texts = [
      "",
      '{"files": [',
      listing("../../../etc/passwd"),
      listing("/etc/passwd"),
      listing("a/../../b"),
      listing("a//b"),
      listing("./a"),
      listing("a\u0000b"),
      listing(""),
    ];
    for (const text of texts) {
      const refusal = await readManifest(runDir({ "manifest.json": text })).catch((error: unknown) => error);
      expect([text, refusal]).toEqual([text, expect.any(MrmTraceError)]);
      expect(refusal).toMatchObject({ code: "data_quality" });
    }
    expect(await readManifest(runDir({ a: "" })).catch((error: unknown) => error)).toMatchObject({
      code: "data_quality",
      hint: expect.stringContaining("mrm-trace analyse"),
    });
    expect((await readManifest(runDir({ "manifest.json": listing("a..b/...c") }))).files).toHaveLength(1);
  });

  test("that is not there is told in words, with what may be meant", async () => {
    const none = runDir({ a: "" });
    expect(await readManifest(none).catch((error: unknown) => error)).toMatchObject({
      code: "data_quality",
      message: `${none} has no manifest.json: it is no run, or one whose recording did not end`,
      hint: `give the folder that \`mrm-trace run\` named; of a recording that was cut off: mrm-trace analyse ${none}`,
    });
  });

  test("that is a link or of another major version is refused", async () => {
    const good = '{"manifest_schema_version":"1.0","run_id":"r","created_at_utc":"","files":[]}';
    const linked = runDir({ elsewhere: good });
    symlinkSync(join(linked, "elsewhere"), join(linked, "manifest.json"));
    expect(await readManifest(linked).catch((error: unknown) => error)).toMatchObject({ code: "data_quality" });
    const later = runDir({ "manifest.json": good.replace("1.0", "2.0") });
    expect(await readManifest(later).catch((error: unknown) => error)).toMatchObject({
      code: "data_quality",
      message: expect.stringContaining("has schema version 2.0"),
    });
  });
});

describe("a file that is replaced atomically", () => {
  test("keeps its old text and leaves nothing behind when it cannot be written", () => {
    const run = runDir({ "sub/x": "" });
    expect(() => writeFileAtomic(join(run, "sub"), "text")).toThrow(MrmTraceError);
    expect(readdirSync(run)).toEqual(["sub"]);
    writeFileAtomic(join(run, "new"), "one");
    writeFileAtomic(join(run, "new"), "two");
    expect(readFileSync(join(run, "new"), "utf8")).toBe("two");
  });
});

describe("metadata.json", () => {
  test("has the keys that readers of the Python package look for", () => {
    const metadata = JSON.parse(toJson(metadataJson()));
    expect(metadata).toMatchObject({
      run_id: "20261121T101500Z-3fa2",
      machine_id: "vm",
      model: { id: "demo-110m" },
      collector: { type: "ebpf" },
      generation: { avg_tokens_per_second: 140.4, total_output_tokens: 4213 },
      thermal: { run_validity: "marginal", throttle_events: null, peak_temp_c: null },
      timing: { total_wall_duration_s: 33.41, started_ns: "123456789012345678" },
      hardware: { cpu_model: "EPYC", cpu_freq_scaling_max_mhz: null },
      software: { os: "Debian", kernel: "6.18", mrm_trace: "0.1.0" },
      seed: 7,
    });
  });
});
