import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MrmTraceError } from "../../../src/errors.ts";
import { type RunFacts, readFacts, writeFacts } from "../../../src/run-directory/facts.ts";
import { JSON_SCHEMA_VERSION } from "../../../src/schema/versions.ts";

const root = mkdtempSync(join(tmpdir(), "mrm-facts-"));
afterAll(() => rmSync(root, { recursive: true }));

function runDir(): string {
  const dir = mkdtempSync(join(root, "run-"));
  mkdirSync(join(dir, "capture"));
  return dir;
}

const path = (dir: string): string => join(dir, "capture", "facts.json");

const FACTS: RunFacts = {
  schema_version: JSON_SCHEMA_VERSION,
  run_id: "r1",
  model_id: "m1",
  validity: "marginal",
  reasons: ["a reason"],
  not_measured: ["temperature"],
  warnings: [],
  collectors: [{ name: "ebpf", sources: ["watch"], why_not_better: "no PMU" }],
  sight: [{ collector: "ebpf", identifies: ["watch"], blind_to: "no PMU" }],
  target: {
    command: ["sh", "-c", "echo \u{1f600}\n"],
    pid: 10,
    pids: [10, 11],
    exit_code: 0,
    signal: null,
    wall_s: 1.25,
    threads: 2,
    busy_threads: 1,
    prompt_tokens: null,
    decode_tokens: 40,
    prompt_tokens_at_least: null,
    decode_tokens_at_least: null,
    decode_tokens_per_s: 20.5,
    decode_call_tokens_per_s: 24.1,
    ttft_ms: 3,
  },
  ledger: [
    {
      stream: "fault",
      source: "fault",
      stage: "ring",
      way: "fault",
      pid: null,
      seen: 2n ** 60n + 1n,
      kept: 2n ** 60n,
      filtered: 0n,
      dropped: 1n,
      dropped_by: { ring_full: 1n },
      unseen_estimate: null,
    },
  ],
  observer: {
    cpu_pct: 1.5,
    contention_pct: 0.1,
    rss_bytes: 100n,
    bpf_run_ns: null,
    traps: 7n,
    trap_ns: 8n,
    slowdown_pct: { value: 0.5, lo: 0.1, hi: null, method: "model" },
    parts: [{ what: "watch traps", count: 7, cost_pct: 0.5, budgeted: true }],
    rss_pct_of_target: null,
    rss_pct_of_available: 0.25,
    baseline_cpu_pct: 3,
    decoder_agreement: { agreed: 9, compared: 10 },
  },
  started_ns: 2n ** 63n + 12345n,
  started_at_utc: "2026-01-01T00:00:00.000Z",
  end_ns: 2n ** 63n + 99999n,
  seed: 42,
  trap_cost_ns: 9000.5,
  stopped_by: "target_ended",
  details: { options: { budget: 1 }, rows: { fault: 3 } },
};

describe("facts of a run", () => {
  test("come back as they were written, every digit of a u64 included", () => {
    const dir = runDir();
    writeFacts(dir, FACTS);
    expect(readFacts(dir, "other", "other")).toEqual(FACTS);
  });

  test("bring back when which budget held", () => {
    const dir = runDir();
    const turns = [{ begin_ns: 2n ** 62n + 1n, budget_pct: 1 }];
    writeFacts(dir, { ...FACTS, details: { watch: { budget: { spent_pct: 0.4, turns } } } });
    expect(readFacts(dir, "", "").details.watch?.budget).toEqual({ spent_pct: 0.4, turns });
  });

  test("bring back when the tracer was late", () => {
    const dir = runDir();
    const stretches = [{ begin_ns: 2n ** 62n + 1n, end_ns: 2n ** 62n + 3n }];
    const late = { stretches, left_out: 2, left_out_ns: 7e9 };
    writeFacts(dir, { ...FACTS, details: { watch: { late } } });
    expect(readFacts(dir, "", "").details.watch?.late).toEqual(late);
  });

  test("of an older version are read though they say of the engine what the streams say by now", () => {
    const dir = runDir();
    writeFacts(dir, FACTS);
    const path = join(dir, "capture", "facts.json");
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), flash_attention: true }));
    expect(readFacts(dir, "other", "other")).toEqual(FACTS);
  });

  test("of a version in which the rate of the decode calls had another name are read under its name", () => {
    const dir = runDir();
    writeFacts(dir, FACTS);
    const { target, ...rest } = JSON.parse(readFileSync(path(dir), "utf8"));
    delete target.decode_call_tokens_per_s;
    writeFileSync(path(dir), JSON.stringify({ ...rest, target }));
    expect(readFacts(dir, "", "").target).toMatchObject({ decode_tokens_per_s: null, decode_call_tokens_per_s: 20.5 });
  });

  test("hold null, not NaN or infinity, in their JSON", () => {
    const dir = runDir();
    const slowdown_pct = { value: Number.NaN, lo: Number.NEGATIVE_INFINITY, hi: 1, method: "model" as const };
    writeFacts(dir, { ...FACTS, observer: { ...FACTS.observer, slowdown_pct } });
    expect(readFacts(dir, "", "").observer.slowdown_pct).toEqual({ value: null, lo: null, hi: 1, method: "model" });
  });

  test("of a run whose tracer was killed say that it is contaminated, and that the loss is not known", () => {
    const facts = readFacts(runDir(), "run-7", "model-7");
    expect(facts).toMatchObject({ run_id: "run-7", model_id: "model-7", validity: "contaminated", ledger: [] });
    expect(facts.stopped_by).toBe("killed");
    expect(facts.warnings.join()).toContain("not known");
    expect(facts.observer.slowdown_pct.value).toBeNull();
  });

  test("of a folder that is no run directory are refused, naming what to give", () => {
    const dir = mkdtempSync(join(root, "none-"));
    expect(() => readFacts(dir, "", "")).toThrow(/no capture folder/);
    expect(() => readFacts(join(root, "absent"), "", "")).toThrow(MrmTraceError);
  });

  test("of a run whose capture was taken away are refused, naming what is missing and what is left", () => {
    const dir = mkdtempSync(join(root, "bare-"));
    writeFileSync(join(dir, "metrics.parquet"), "");
    const refusal = { code: "usage", message: expect.stringContaining("capture/"), hint: expect.stringContaining(dir) };
    expect(() => readFacts(dir, "", "")).toThrow(expect.objectContaining(refusal));
  });

  test("that were cut short or changed anywhere are refused in words, never believed in part", () => {
    const dir = runDir();
    writeFacts(dir, FACTS);
    const text = readFileSync(path(dir), "utf8");
    const damaged = [
      "",
      "null",
      "[]",
      text.slice(0, text.length / 2),
      text.replace('"marginal"', '"fine"'),
      text.replace(`"${FACTS.started_ns}"`, "12"),
      text.replace(`"${FACTS.end_ns}"`, '"-1"'),
      text.replace('"details"', '"detail"'),
    ];
    for (const bad of damaged) {
      expect(bad).not.toBe(text);
      writeFileSync(path(dir), bad);
      expect(() => readFacts(dir, "", "")).toThrow(/cannot be read as facts of a run/);
    }
  });
});

test("facts that are a pipe are refused as damaged, and not waited for", () => {
  const dir = runDir();
  expect(Bun.spawnSync(["mkfifo", path(dir)]).exitCode).toBe(0);
  expect(() => readFacts(dir, "r", "m")).toThrow("cannot be read as facts of a run");
});
