/** `mrm-trace simulate`: what the tool would say of a described work, before anything is traced. */
import { defineCommand } from "citty";
import { z } from "zod";
import { flagsOf, givenOptions } from "../config/flags.ts";
import { parseOptions, runSchema } from "../config/schema.ts";
import { whole } from "../config/values.ts";
import { readWorldFile } from "../config/world-file.ts";
import { MrmTraceError } from "../errors.ts";
import { createProgress } from "../report/progress.ts";
import { renderSimulation } from "../report/simulation-table.ts";
import { terminalOf } from "../report/terminal.ts";
import { tellShare } from "../report/working.ts";
import { toJson } from "../schema/run-json.ts";

/** So many simulated seconds take from some minutes to an hour, by how often words are used. */
const MOST_SIMULATED_S = 20_000;

const simulateSchema = z.object({
  seeds: whole(1, 1000).default(20).describe("how many runs of the world are simulated, each with other draws"),
  "first-seed": whole(1, 1e9).default(1).describe("seed of the first run: another has fresh draws of the same work"),
  ...runSchema.pick({ json: true, color: true }).shape,
});

export const simulateCommand = defineCommand({
  meta: { name: "simulate", description: "Say what a trace of a described work would tell, before tracing" },
  args: {
    world: { type: "positional", required: true, valueHint: "WORLD.yaml", description: "YAML file of the work" },
    ...flagsOf(simulateSchema),
  },
  async run({ args }) {
    const {
      seeds,
      "first-seed": first,
      json,
      color,
    } = parseOptions(simulateSchema, givenOptions(simulateSchema, args));
    const { described, refuse } = readWorldFile(args.world);
    const runS = described.run / 1e9;
    if (seeds * runS > MOST_SIMULATED_S) {
      throw new MrmTraceError(
        "usage",
        `${seeds} runs of ${runS} s are ${seeds * runS} s to simulate, more than ${MOST_SIMULATED_S}`,
        `give fewer, such as: --seeds ${Math.floor(MOST_SIMULATED_S / runS)}, or a shorter run`,
      );
    }
    // Loaded on use: every command has the same entry point.
    const { simulate } = await import("../simulate/simulate.ts");
    const progress = createProgress(process.stderr);
    const simulation = simulate(described, { seeds, first }, { onShare: tellShare(progress, "simulating"), refuse });
    progress.clear();
    const terminal = terminalOf(process.stdout, color, process.env);
    process.stdout.write(json ? `${toJson(simulation)}\n` : renderSimulation(simulation, terminal));
  },
});
