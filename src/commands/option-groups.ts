/** The options of runs by what a user wants to do with them; a verb has those of them that it takes. */
import type { OptionGroup } from "./verb.ts";

const METRICS_TASK = "tokens as the engine counts them";

export const RUN_GROUPS: readonly OptionGroup[] = [
  {
    task: "the demo, where no command is given",
    options: [
      ...["params", "type", "model", "seconds", "tokens", "prompt-tokens"],
      ...["context-tokens", "sequences", "threads", "flash-attention"],
    ],
    example: "mrm-trace run --params 15m --seconds 10",
  },
  {
    task: "experiments of a file",
    options: ["config", "resume", "max-runs"],
    example: "mrm-trace run --config experiment.yaml --resume",
  },
  {
    task: "a server, of which we are the client",
    options: ["serve", "api", "clients", "request-tokens", "request-timeout", "prompts"],
    example: "mrm-trace run --serve 30s -- llama-server -m model.gguf --port {port}",
  },
  {
    task: "how long, and how much",
    options: ["duration", "max-size", "budget", "baseline"],
    example: "mrm-trace run --duration 60s --budget 0.5 -- ./infer -m model.gguf",
  },
  {
    task: "what is recorded",
    options: [
      ...["collector", "source", "ebpf", "watch-registers", "clock-hz", "perf", "memray"],
      ...["check-invariance", "seed", "record-command", "record-only"],
    ],
    example: "mrm-trace run --collector ebpf,memray -- python3 serve.py",
  },
  {
    task: METRICS_TASK,
    options: ["engine-metrics"],
    example: "mrm-trace run --engine-metrics http://127.0.0.1:8080/metrics -- ./llm",
  },
  {
    task: "what is kept and printed",
    options: ["output", "run-id", "force", "json", "table", "quiet", "verbose", "debug", "color"],
    example: "mrm-trace run --output shared --run-id first --json -- ./infer",
  },
];

export const ATTACH_GROUPS: readonly OptionGroup[] = [
  ...RUN_GROUPS.filter(({ task }) => task !== METRICS_TASK).map(({ task, options }) => ({ task, options })),
  {
    task: METRICS_TASK,
    options: ["engine-metrics"],
    example: "mrm-trace attach llama-server --duration 60s --engine-metrics http://127.0.0.1:8080/metrics",
  },
];

export const COMPARE_GROUPS: readonly OptionGroup[] = [
  {
    task: "what is compared, and how often",
    options: ["arms", "repeats", "margin", "timeout", "pin"],
    example: "mrm-trace compare --arms off,ebpf --margin 2% -- ./infer -m model.gguf",
  },
  {
    task: "a server, driven by requests",
    options: ["serve", "api", "clients", "request-tokens"],
    example:
      "mrm-trace compare --arms off,ebpf --serve 20s --clients 4 -- llama-server -m model.gguf -np 4 --port {port}",
  },
  ...RUN_GROUPS.filter(({ options }) => !options.includes("serve")).map(({ task, options }) => ({ task, options })),
];
