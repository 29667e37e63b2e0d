/** THE table of commands: help, completions and the command line are made from it. A verb is one line. */
import { analyseCommand } from "./analyse.ts";
import { compareCommand } from "./compare.ts";
import { completionsCommand } from "./completions.ts";
import { configCommand } from "./config.ts";
import { doctorCommand } from "./doctor.ts";
import { importCommand } from "./import.ts";
import { modelCommand } from "./model.ts";
import { monitorCommand } from "./monitor.ts";
import { planCommand } from "./plan.ts";
import { runCommand } from "./run.ts";
import { schemaCommand } from "./schema.ts";
import { validateCommand } from "./validate.ts";
import { type Verb, verb } from "./verb.ts";

export const VERBS: Readonly<Record<string, Verb>> = {
  run: verb(runCommand, "mrm-trace run --duration 60s -- ./llama-server -m model.gguf", {
    takesCommand: true,
    common: ["config", "resume", "output", "run-id", "source", "duration", "budget", "json", "quiet"],
  }),
  plan: verb(planCommand, "mrm-trace plan experiment.yaml", { common: ["max-runs", "output", "json", "color"] }),
  validate: verb(validateCommand, "mrm-trace validate experiment.yaml"),
  config: verb(configCommand, "mrm-trace config show --config experiment.yaml", { common: ["config", "json"] }),
  analyse: verb(analyseCommand, "mrm-trace analyse results/MODEL/RUN_ID"),
  import: verb(importCommand, "mrm-trace import perf.data"),
  doctor: verb(doctorCommand, "mrm-trace doctor --json"),
  schema: verb(schemaCommand, "mrm-trace schema run"),
  completions: verb(completionsCommand, "mrm-trace completions bash"),
  compare: verb(compareCommand, "mrm-trace compare --arms off,ebpf --repeats 20 -- ./infer model.gguf", {
    takesCommand: true,
    common: ["arms", "repeats", "margin", "serve", "output", "json"],
  }),
  model: verb(modelCommand, "mrm-trace model --params 15m --type q8_0 --out model.gguf"),
  monitor: verb(monitorCommand, "mrm-trace monitor --name ollama --output memory.csv", {
    common: ["name", "pid", "interval", "duration", "max-samples", "cooldown", "wait", "output"],
  }),
};
