/** THE table of commands: help, completions and the command line are made from it. A verb is one line. */
import { ATTACH_GROUPS, COMPARE_GROUPS, RUN_GROUPS } from "./option-groups.ts";
import { type Verb, verb } from "./verb.ts";

/** Each is loaded on use: one command does not wait for what the others need. */
const LOADERS = {
  run: async () =>
    verb((await import("./run.ts")).runCommand, "mrm-trace run --duration 60s -- ./llama-server -m model.gguf", {
      takesCommand: true,
      isRootNeeded: true,
      seesSignals: true,
      common: ["config", "resume", "output", "source", "duration", "budget", "json", "table"],
      groups: RUN_GROUPS,
    }),
  attach: async () =>
    verb((await import("./attach.ts")).attachCommand, "mrm-trace attach llama-server --duration 60s", {
      isRootNeeded: true,
      seesSignals: true,
      common: ["output", "run-id", "source", "duration", "max-size", "budget", "json", "table", "quiet"],
      groups: ATTACH_GROUPS,
      surplus: "attach to one process by its pid or name: its children come with it",
    }),
  plan: async () =>
    verb((await import("./plan.ts")).planCommand, "mrm-trace plan experiment.yaml", {
      common: ["max-runs", "output", "json", "color"],
    }),
  report: async () =>
    verb((await import("./finished-run/report.ts")).reportCommand, "mrm-trace report results/MODEL/RUN_ID --open", {
      takesSeveral: true,
    }),
  simulate: async () =>
    verb((await import("./simulate.ts")).simulateCommand, "mrm-trace simulate world.yaml --seeds 20"),
  validate: async () =>
    verb((await import("./validate.ts")).validateCommand, "mrm-trace validate experiment.yaml", { isRootNeeded: true }),
  config: async () =>
    verb((await import("./config.ts")).configCommand, "mrm-trace config show --config experiment.yaml", {
      common: ["config", "json"],
    }),
  show: async () => verb((await import("./show.ts")).showCommand, "mrm-trace show results/MODEL/RUN_ID --table"),
  "what-if": async () =>
    verb(
      (await import("./finished-run/what-if.ts")).whatIfCommand,
      "mrm-trace what-if results/MODEL/RUN_ID --device hbm --device nand",
    ),
  export: async () =>
    verb(
      (await import("./finished-run/export.ts")).exportCommand,
      "mrm-trace export results/MODEL/RUN_ID --format csv --table trace",
    ),
  card: async () =>
    verb((await import("./finished-run/card.ts")).cardCommand, "mrm-trace card results/MODEL/RUN_ID --out card.md"),
  check: async () =>
    verb(
      (await import("./finished-run/check.ts")).checkCommand,
      "mrm-trace check results/MODEL/RUN_ID --against budget.yaml",
    ),
  analyse: async () => verb((await import("./analyse.ts")).analyseCommand, "mrm-trace analyse results/MODEL/RUN_ID"),
  verify: async () => verb((await import("./verify.ts")).verifyCommand, "mrm-trace verify results/MODEL/RUN_ID"),
  scrub: async () =>
    verb((await import("./scrub.ts")).scrubCommand, "mrm-trace scrub results/MODEL/RUN_ID --out shared"),
  import: async () => verb((await import("./import.ts")).importCommand, "mrm-trace import perf.data"),
  doctor: async () =>
    verb((await import("./doctor.ts")).doctorCommand, "mrm-trace doctor --json", { isRootNeeded: true }),
  schema: async () => verb((await import("./schema.ts")).schemaCommand, "mrm-trace schema run"),
  completions: async () => verb((await import("./completions.ts")).completionsCommand, "mrm-trace completions bash"),
  compare: async () =>
    verb(
      (await import("./compare.ts")).compareCommand,
      "mrm-trace compare --arms off,ebpf --repeats 20 -- ./infer model.gguf",
      {
        takesCommand: true,
        isRootNeeded: true,
        common: ["arms", "repeats", "margin", "serve", "output", "json"],
        groups: COMPARE_GROUPS,
      },
    ),
  model: async () =>
    verb((await import("./model.ts")).modelCommand, "mrm-trace model --params 15m --type q8_0 --out model.gguf"),
  monitor: async () =>
    verb((await import("./monitor.ts")).monitorCommand, "mrm-trace monitor --name ollama --output memory.csv", {
      isRootNeeded: true,
      seesSignals: true,
      common: ["name", "pid", "interval", "duration", "max-samples", "cooldown", "wait", "output"],
      surplus: "did you mean: mrm-trace monitor --name WORD?",
    }),
} satisfies Record<string, () => Promise<Verb>>;

/** Verbs that the help of the program explains first; it names the others. */
export const COMMON_VERBS: readonly string[] = [
  ...["run", "attach", "show", "compare", "import", "analyse", "monitor", "plan", "scrub", "doctor"],
];

export const VERB_NAMES: readonly string[] = Object.keys(LOADERS);

/** One verb; null where there is none of that name. */
export async function loadVerb(name: string): Promise<Verb | null> {
  return Object.hasOwn(LOADERS, name) ? await LOADERS[name as keyof typeof LOADERS]() : null;
}

/** All verbs, in the order of the table. */
export async function loadVerbs(): Promise<Readonly<Record<string, Verb>>> {
  const pairs = Object.entries(LOADERS).map(async ([name, load]) => [name, await load()] as const);
  return Object.fromEntries(await Promise.all(pairs));
}
