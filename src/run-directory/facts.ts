/** capture/facts.json: what the recording knew beside its streams, so that everything can be derived again from it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { MrmTraceError } from "../errors.ts";
import { refuseOtherMajor } from "../schema/refuse-version.ts";
import { runDetailsSchema } from "../schema/run-details.ts";
import { runJsonSchema, toJson, withRatesRenamed } from "../schema/run-json.ts";
import { JSON_SCHEMA_VERSION } from "../schema/versions.ts";
import { writeFileAtomic } from "./atomic-file.ts";
import { readRegularText } from "./regular-file.ts";
import { runPaths } from "./run-directory.ts";
import { giveSpareRoom, hasSpareRoom, takeSpareRoom, writeInSpareRoom } from "./spare-room.ts";
import { isFull } from "./unwritable.ts";

const FILE = "facts.json";

const factsSchema = runJsonSchema
  .omit({
    labels: true,
    loss: true,
    metrics: true,
    more_time: true,
    invariance: true,
    run_dir: true,
    model: true,
    engine: true,
  })
  .extend({
    /** What each collector can tell: the sources of figures that it feeds, and why it tells no others. */
    sight: z
      .array(z.object({ collector: z.string(), identifies: z.array(z.string()), blind_to: z.string() }))
      .default([]),
    /** CLOCK_MONOTONIC and wall time of one moment. */
    started_ns: z.codec(z.string().regex(/^\d{1,20}$/), z.bigint(), {
      decode: (text) => BigInt(text),
      encode: (value) => value.toString(),
    }),
    started_at_utc: z.string(),
    end_ns: z.codec(z.string().regex(/^\d{1,20}$/), z.bigint(), {
      decode: (text) => BigInt(text),
      encode: (value) => value.toString(),
    }),
    seed: z.number(),
    trap_cost_ns: z.number().nullable(),
    /** Machine, options, calibration, checks: for metadata.json. */
    details: runDetailsSchema,
  });

export type RunFacts = z.output<typeof factsSchema>;

/** Path of capture/facts.json. */
export function factsPath(runDir: string): string {
  return join(runDir, "capture", FILE);
}

/** The text of facts.json. */
export function factsText(facts: RunFacts): string {
  return `${toJson(z.encode(factsSchema, facts), 2)}\n`;
}

/** Begins capture/facts.json, and keeps room to complete it should the disk be full by then. @throws MrmTraceError environment */
export function beginFacts(path: string, text: string): void {
  takeSpareRoom(path, text);
  writeFileAtomic(path, text);
}

/** True once the facts are complete: what is there before is for a tracer that does not live to complete them. */
export function areFactsComplete(runDir: string): boolean {
  const path = factsPath(runDir);
  return existsSync(path) && !hasSpareRoom(path);
}

/** Writes capture/facts.json, on a full disk in the room that was kept for it. @throws MrmTraceError environment */
export function writeFacts(runDir: string, facts: RunFacts): void {
  const path = factsPath(runDir);
  const text = factsText(facts);
  try {
    writeFileAtomic(path, text);
  } catch (error) {
    if (!(error instanceof MrmTraceError) || !isFull(error.cause)) throw error;
    try {
      writeInSpareRoom(path, text);
    } catch {
      // There was none, or too little: the disk is full all the same.
      throw error;
    }
  }
}

/** Gives back what room is left, once the facts are complete. */
export function completeFacts(runDir: string, facts: RunFacts): void {
  writeFacts(runDir, facts);
  giveSpareRoom(factsPath(runDir));
}

/** Facts of data of which nothing is known but the data itself, with the reason. */
export function unknownFacts(runId: string, modelId: string, why: string, stopped_by: string): RunFacts {
  return {
    schema_version: JSON_SCHEMA_VERSION,
    run_id: runId,
    model_id: modelId,
    stopped_by,
    validity: "contaminated",
    reasons: [why],
    not_measured: [],
    warnings: [why],
    collectors: [],
    sight: [],
    target: {
      command: [],
      pid: 0,
      pids: [],
      exit_code: null,
      signal: null,
      wall_s: null,
      threads: null,
      busy_threads: null,
      prompt_tokens: null,
      decode_tokens: null,
      prompt_tokens_at_least: null,
      decode_tokens_at_least: null,
      decode_tokens_per_s: null,
      decode_call_tokens_per_s: null,
      ttft_ms: null,
    },
    ledger: [],
    observer: {
      cpu_pct: null,
      contention_pct: null,
      rss_bytes: null,
      bpf_run_ns: null,
      traps: 0,
      trap_ns: 0,
      slowdown_pct: { value: null, lo: null, hi: null, method: "model" },
      parts: [],
      rss_pct_of_target: null,
      rss_pct_of_available: null,
      baseline_cpu_pct: null,
      decoder_agreement: null,
    },
    started_ns: 0n,
    started_at_utc: "",
    end_ns: 0n,
    seed: 1,
    trap_cost_ns: null,
    details: {},
  };
}

/**
 * Facts of a run directory.
 * @throws MrmTraceError usage where it is no run directory, data_quality where its facts are of another major version or damaged
 */
export function readFacts(runDir: string, runId: string, modelId: string): RunFacts {
  const { capture, metrics_parquet } = runPaths(runDir);
  if (!existsSync(capture) && existsSync(metrics_parquet)) {
    throw new MrmTraceError(
      "usage",
      `the folder capture/ of ${runDir} is missing: without what was recorded nothing can be derived again`,
      `restore capture/ from a copy; what was derived before is still there: mrm-trace show ${runDir}`,
    );
  }
  if (!existsSync(capture)) {
    throw new MrmTraceError(
      "usage",
      `${runDir} is no run directory: it has no capture folder`,
      "give the folder that `mrm-trace run` named, such as results/MODEL/RUN_ID",
    );
  }
  const path = factsPath(runDir);
  if (!existsSync(path)) {
    // Of a recording that never began, or of an older version, which wrote facts at its end alone.
    return unknownFacts(runId, modelId, "the tracer was killed: what it lost and cost is not known", "killed");
  }
  try {
    const object = JSON.parse(readRegularText(path));
    const versioned = z.object({ schema_version: z.string() }).safeParse(object).data;
    if (versioned !== undefined) refuseOtherMajor(path, versioned.schema_version, JSON_SCHEMA_VERSION);
    return z.decode(factsSchema, withRatesRenamed(object) as z.input<typeof factsSchema>);
  } catch (cause) {
    if (cause instanceof MrmTraceError) throw cause;
    throw new MrmTraceError(
      "data_quality",
      `${path} cannot be read as facts of a run`,
      "move it away to analyse the streams without it; it was changed",
      { cause },
    );
  }
}
