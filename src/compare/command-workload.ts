/** Any command that ends by itself: wall time and memory are all that it tells. */
import { basename } from "node:path";
import { findProgram } from "../target/held-command.ts";
import { engineThreads } from "./settings.ts";
import type { Workload } from "./workload.ts";

/** @throws MrmTraceError target, where there is no such program */
export function commandWorkload(command: readonly string[]): Workload {
  findProgram(command[0] ?? "");
  return {
    kind: "command",
    command,
    engineThreads: engineThreads(command),
    modelName: basename(command[0] ?? "command"),
    async next() {
      return { command, env: {}, drive: null, figures: () => ({}) };
    },
  };
}
