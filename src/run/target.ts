/** What a run launches: the user's command, or the demo engine. */
import { basename } from "node:path";
import type { DemoOptions } from "../config/schema.ts";
import { demoCacheDir } from "../engine/demo/cache.ts";
import { type DemoOptions as DemoPreparation, demoCommand } from "../engine/demo/demo.ts";
import { generalName } from "../engine/gguf/file.ts";

export interface RunTarget {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Shared objects of the engine that are known already. */
  readonly engineObjects: readonly string[];
  /** Name from which the model's id is made. */
  readonly modelName: string;
  readonly isDemo: boolean;
}

/** The GGUF that a command line names, if it names one that can be read. */
function modelOf(command: readonly string[]): string | null {
  for (const word of command) {
    const path = word.startsWith("--") && word.includes("=") ? word.slice(word.indexOf("=") + 1) : word;
    if (!path.endsWith(".gguf")) continue;
    const name = generalName(path);
    if (name !== null) return name;
  }
  return null;
}

/**
 * @param preparing `signal` ends what the demo still needs, `notice` is told what it waits for
 * @throws MrmTraceError environment, when the demo engine cannot be installed
 */
export async function resolveTarget(
  command: readonly string[],
  demo: DemoOptions,
  seed: number,
  preparing: Pick<DemoPreparation, "signal" | "notice"> = {},
): Promise<RunTarget> {
  if (command.length > 0) {
    const modelName = modelOf(command) ?? basename(command[0] ?? "command");
    return { command, env: {}, engineObjects: [], modelName, isDemo: false };
  }
  const made = await demoCommand({
    cacheDir: demoCacheDir(),
    params: demo.params,
    type: demo.type,
    seed,
    promptTokens: demo.prompt_tokens,
    contextTokens: demo.context_tokens,
    flashAttention: demo.flash_attention ? "on" : "off",
    ...(demo.tokens === undefined ? { seconds: demo.seconds } : { tokens: demo.tokens }),
    ...(demo.threads === undefined ? {} : { threads: demo.threads }),
    ...preparing,
  });
  return {
    command: made.command,
    env: made.env,
    // One CPU variant of many is mapped, long after the library that places tensors: it is probed when it is.
    engineObjects: made.objects.filter((path) => !path.includes("libggml-cpu-")),
    modelName: generalName(made.modelPath) ?? `demo ${demo.params} ${demo.type}`,
    isDemo: true,
  };
}
