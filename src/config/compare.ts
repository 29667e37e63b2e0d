/** THE options of `compare`. */
import { z } from "zod";
import type { EffectiveOption } from "./effective.ts";
import { COLLECTOR_NAMES, runSchema, serveSchema } from "./schema.ts";
import { duration, percent, valueHints, whole } from "./values.ts";

const names = z.preprocess(
  (value) => (typeof value === "string" ? value.split(",").map((name) => name.trim()) : value),
  z.array(z.string().min(1)).min(1),
);

/** Beyond it a comparison takes days. */
export const MOST_REPEATS = 10_000;

export const compareSchema = z.object({
  arms: names
    .optional()
    .describe("what to compare with off, such as ebpf,perf-mem:page-faults")
    .register(valueHints, { hint: "NAMES", words: ["off", "attached-idle", ...COLLECTOR_NAMES] }),
  repeats: whole(2, MOST_REPEATS).default(20).describe("runs of each arm, declared before the first: an even number"),
  margin: percent(0.01, 1000).default(2).describe("slowdown that is acceptable, such as 2%"),
  serve: duration.optional().describe("drive the command, a server, with streaming requests for so long"),
  ...serveSchema.pick({ api: true, clients: true, request_tokens: true }).shape,
  timeout: duration.default(600e9).describe("longest that one run may take"),
  pin: z.boolean().default(true).describe("give the target CPUs of its own where there are two or more"),
  ...runSchema.pick({ output: true, seed: true, json: true, quiet: true, color: true, debug: true }).shape,
});
export type CompareOptions = z.output<typeof compareSchema>;

/** Options of the tracer that hold in every traced arm; the others are the comparison's own. */
export const tracerSchema = runSchema.omit({
  ...{ output: true, force: true, run_id: true, collector: true, duration: true, seed: true, baseline: true },
  ...{ engine_metrics: true, record_only: true, json: true, quiet: true, verbose: true, debug: true, color: true },
});

/** Options of the tracer that were given, as words of a command line. */
export function tracerWords(given: readonly EffectiveOption[]): string[] {
  const names = Object.keys(tracerSchema.shape);
  return given.flatMap(({ key, value, from }) => {
    const name = key.replace(/^run\./, "");
    if (!key.startsWith("run.") || !names.includes(name) || from === "default") return [];
    const flag = name.replaceAll("_", "-");
    if (typeof value === "boolean") return [value ? `--${flag}` : `--no-${flag}`];
    return [`--${flag}`, Array.isArray(value) ? value.join(",") : String(value)];
  });
}
