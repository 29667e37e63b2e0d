/** `mrm-trace model`: writes a random-weight GGUF that llama.cpp loads. */
import { resolve } from "node:path";
import { defineCommand } from "citty";
import { MODEL_PARAMS } from "../demo/model/shape.ts";
import { MODEL_TYPES } from "../demo/model/weight-type.ts";
import { writeModel } from "../demo/model/write-model.ts";
import { MrmTraceError } from "../errors.ts";
import { createProgress } from "../report/progress.ts";
import { tellShare } from "../report/working.ts";
import { JSON_SCHEMA_VERSION } from "../schema/versions.ts";
import { formatBytes, formatCount } from "../units.ts";
import { interruptible } from "./interruptible.ts";

/** @throws MrmTraceError usage */
function oneOf<T extends string>(option: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find((word) => word === value);
  if (found !== undefined) return found;
  const wanted = `one of ${allowed.join(", ")}`;
  throw new MrmTraceError(
    "usage",
    `${option}: ${wanted} expected, but received "${value}"`,
    `give ${option} ${wanted}`,
  );
}

/** @throws MrmTraceError usage */
function seedOf(text: string): number {
  const seed = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (seed < 2 ** 32) return seed;
  const wanted = "a whole number from 0 to 4294967295";
  throw new MrmTraceError("usage", `--seed: ${wanted} expected, but received "${text}"`, `give --seed ${wanted}`);
}

export const modelCommand = defineCommand({
  meta: { name: "model", description: "Write a random-weight GGUF that llama.cpp loads" },
  args: {
    params: {
      type: "string",
      default: "110m",
      valueHint: MODEL_PARAMS.join("|"),
      description: "Size of the model: 0.427, 24.4, 134 and 1100 million parameters",
    },
    type: { type: "string", default: "q8_0", valueHint: MODEL_TYPES.join("|"), description: "Type of the weights" },
    out: { type: "string", valueHint: "FILE", description: "File to write" },
    seed: { type: "string", default: "1", valueHint: "N", description: "The same seed gives the same file" },
    force: { type: "boolean", default: false, description: "Replace the file if it exists" },
    json: { type: "boolean", default: false, description: "Print one JSON object" },
  },
  async run({ args }) {
    const spec = {
      params: oneOf("--params", args.params, MODEL_PARAMS),
      type: oneOf("--type", args.type, MODEL_TYPES),
      seed: seedOf(args.seed),
    };
    if (!args.out) throw new MrmTraceError("usage", "no file to write was given", "add --out model.gguf");
    const path = resolve(args.out);
    const progress = createProgress(process.stderr);
    const onShare = tellShare(progress, "writing");
    const write = (signal: AbortSignal) => writeModel(spec, path, { force: args.force, signal, onShare });
    const model = await interruptible(write).finally(() => progress.clear());
    process.stdout.write(
      args.json
        ? `${JSON.stringify({ schema_version: JSON_SCHEMA_VERSION, ...model, ...spec })}\n`
        : `${model.path}: ${formatBytes(model.bytes)} (${model.bytes} bytes), ${formatCount(model.parameters)} parameters\n`,
    );
  },
});
