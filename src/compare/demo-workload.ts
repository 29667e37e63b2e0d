/** The demo engine, decoding a fixed number of tokens: the same work in every unit. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { DemoOptions } from "../config/schema.ts";
import type { DemoReport } from "../demo/report.ts";
import { MrmTraceError } from "../errors.ts";
import { type Workload as Decoding, resolveTarget } from "../pipelines/launched-target.ts";
import { readRegularText } from "../run-directory/regular-file.ts";
import { asUser } from "../target/acting-user.ts";
import { invokingUser } from "../target/invoking-user.ts";
import type { Workload } from "./workload.ts";

/** Some seconds of decoding with the default model on one core. */
const DEFAULT_TOKENS = 600;

export interface DemoWorkloadOptions {
  readonly demo: DemoOptions;
  /** What an experiment decodes, in place of a number of tokens. */
  readonly decoding: Decoding | undefined;
  readonly seed: number;
  /** Of the target, where the user names none. */
  readonly threads: number;
  /** Folder for the report, writable by the user as whom the demo runs. */
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
}

function takeReport(path: string): DemoReport {
  try {
    return JSON.parse(readRegularText(path)) as DemoReport;
  } catch (cause) {
    const hint = "run it alone to see why: mrm-trace run --debug";
    throw new MrmTraceError("target", "the demo ended without its report", hint, { cause });
  } finally {
    rmSync(path, { force: true });
  }
}

/** @throws MrmTraceError environment, where the demo engine cannot be installed */
export async function demoWorkload(options: DemoWorkloadOptions): Promise<Workload> {
  const { demo, seed, signal, decoding } = options;
  const reportPath = join(options.folder, "report.json");
  const fixed = { ...demo, tokens: demo.tokens ?? DEFAULT_TOKENS, threads: demo.threads ?? options.threads };
  const preparing = { signal, notice: options.say, reportPath, workload: decoding };
  const { command, env, modelName } = await resolveTarget([], fixed, seed, preparing);
  return {
    kind: "demo",
    command,
    engineThreads: fixed.threads,
    modelName,
    async next() {
      const figures = () => {
        const report = asUser(invokingUser(), () => takeReport(reportPath));
        return {
          tokens_per_s: report.decode_tokens_per_s,
          ttft_ms: report.ttft_ms,
          token_p50_ms: report.token_p50_ms,
          token_p99_ms: report.token_p99_ms,
        };
      };
      return { command, env, drive: null, figures };
    },
  };
}
