/** What the demo says of itself when it ends. */

import { renameSync, writeFileSync } from "node:fs";
import { quantile } from "../statistics/quantile.ts";
import type { Decoded } from "./decode.ts";
import type { DecodeOptions } from "./demo-options.ts";
import type { EngineFacts } from "./engine-log.ts";

/** One JSON object; the names are those of the tracer's own `target` object where they mean the same. */
export interface DemoReport {
  readonly model: string;
  /** Tokens of one prompt. */
  readonly prompt_tokens: number;
  readonly prefills: number;
  readonly decode_tokens: number;
  readonly decode_tokens_per_s: number | null;
  readonly ttft_ms: number | null;
  /** Quantiles of the time of one decoded token; null without any. */
  readonly token_p50_ms: number | null;
  readonly token_p99_ms: number | null;
  readonly load_ms: number;
  readonly n_ctx: number;
  readonly threads: number;
  /** As the engine logged it, not as it was asked; null when it did not say. */
  readonly flash_attention: boolean | null;
  readonly kv_buffer_bytes: number | null;
  readonly token_digest: string;
}

export interface LoadedFacts {
  readonly model: string;
  readonly loadMs: number;
  readonly contextSize: number;
  readonly threads: number;
}

/** @param decoded what was decoded before the end, however it came */
export function demoReport(
  options: DecodeOptions,
  loaded: LoadedFacts,
  facts: EngineFacts,
  decoded: Decoded,
): DemoReport {
  return {
    model: loaded.model,
    prompt_tokens: options.promptTokens,
    prefills: decoded.prefills,
    decode_tokens: decoded.decodeTokens,
    decode_tokens_per_s: decoded.decodeTokens > 0 ? decoded.decodeTokens / (decoded.decodeMs / 1000) : null,
    ttft_ms: decoded.ttftMs,
    token_p50_ms: quantile(decoded.tokenMs, 0.5),
    token_p99_ms: quantile(decoded.tokenMs, 0.99),
    load_ms: loaded.loadMs,
    n_ctx: loaded.contextSize,
    threads: loaded.threads,
    flash_attention: facts.flashAttention,
    kv_buffer_bytes: facts.kvBufferBytes,
    token_digest: decoded.tokenDigest,
  };
}

/** Writes the report to its file, whole or not at all, or as the last line of stdout. */
export function publish(report: DemoReport, path: string | null): void {
  const line = `${JSON.stringify(report)}\n`;
  if (path === null) {
    process.stdout.write(line);
    return;
  }
  const temporary = `${path}.${process.pid}.tmp`;
  writeFileSync(temporary, line, { mode: 0o600 });
  renameSync(temporary, path);
}
