#!/usr/bin/env bun
/**
 * llama.cpp with a backend that has memory of its own, without a graphics card: its Vulkan part, on the CPU by Mesa's lavapipe.
 * Says what the tracer names of that memory beside what llama.cpp logs. Run by scripts/test-engines; needs root and a network.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { $ } from "bun";
import { openRun } from "../../src/api/open-run.ts";
import { demoCacheDir } from "../../src/demo/cache.ts";
import { ensureDemoModel } from "../../src/demo/demo-model.ts";
import { ensureDemoEngine } from "../../src/demo/install.ts";
import enginePackage from "../../src/demo/package/package.json" with { type: "json" };
import { startCli } from "../../tests/integration/run/cli.ts";

const VERSION = enginePackage.dependencies["node-llama-cpp"];
const folder = join(process.env.MRM_TRACE_ENGINES ?? "", `vulkan-${VERSION}`);
const engine = join(folder, "engine");
const program = join(folder, "generate.mjs");
const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** The demo's engine with the package of its Vulkan part beside the others. */
async function install(): Promise<void> {
  await $`scripts/apt-packages mesa-vulkan-drivers libvulkan1`;
  const part = join(engine, "node_modules/@node-llama-cpp/linux-x64-vulkan");
  if (!existsSync(join(part, "package.json"))) {
    mkdirSync(part, { recursive: true });
    cpSync(join(await ensureDemoEngine(demoCacheDir()), "node_modules"), join(engine, "node_modules"), {
      recursive: true,
    });
    await $`npm pack --silent @node-llama-cpp/linux-x64-vulkan@${VERSION}`.cwd(folder).quiet();
    await $`tar xzf ${readdirSync(folder).find((name) => name.endsWith(".tgz"))} -C ${part} --strip-components=1`.cwd(
      folder,
    );
  }
  writeFileSync(
    program,
    `const { getLlama } = await import("${engine}/node_modules/node-llama-cpp/dist/index.js");
const logger = (_, message) => { if (message.includes("buffer size")) console.log(message.trim()); };
const llama = await getLlama({ gpu: "vulkan", build: "never", logLevel: "info", logger, maxThreads: 2 });
const model = await llama.loadModel({ modelPath: process.argv[2], gpuLayers: 99 });
const sequence = (await model.createContext({ contextSize: 1024, threads: 2 })).getSequence();
do {
  let tokens = 0;
  for await (const _ of sequence.evaluate([5, 6, 7, 8])) if (++tokens === 64) break;
  await sequence.clearHistory();
  console.log("answered");
} while (process.argv[3] === "again");
await llama.dispose();
`,
  );
}

/** Bytes of a word of llama.cpp's log, such as \`Vulkan0 KV buffer size = 0.50 MiB\`, in MiB. */
function logged(log: string, what: string): number {
  const found = [...log.matchAll(new RegExp(`Vulkan0 ${what} buffer size = +([0-9.]+) MiB`, "g"))];
  return found.reduce((sum, [, size]) => sum + Number(size), 0);
}

/** The same of the tracer's warning. */
function named(warning: string, what: string): number {
  const [, size = "0", unit = "MiB"] = new RegExp(`${what} of ([0-9.]+) (\\wiB)`).exec(warning) ?? [];
  return Number(size) * ({ KiB: 1 / 1024, MiB: 1, GiB: 1024 }[unit] ?? Number.NaN);
}

/** The warnings of a recording that comes when the model was loaded long since. */
async function attached(path: string): Promise<readonly string[]> {
  const env = { ...process.env, GGML_VK_VISIBLE_DEVICES: "0" };
  const child = Bun.spawn([process.execPath, program, path, "again"], { env, stdout: "pipe", stderr: "ignore" });
  try {
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) if (decoder.decode(chunk).includes("answered")) break;
    const options = ["--json", "--baseline", "100ms", "--duration", "2s", "--output", join(folder, "results")];
    const { stdout } = await startCli(["attach", String(child.pid), ...options]).ended;
    return (JSON.parse(stdout) as { readonly warnings: readonly string[] }).warnings;
  } finally {
    child.kill("SIGKILL");
    await child.exited;
  }
}

await install();
const model = await ensureDemoModel(join(folder, "models"), { params: "1m", type: "f16", seed: 1 });
const args = ["run", "--json", "--baseline", "100ms", "--output", join(folder, "results"), "--"];
const { stdout, stderr } = await startCli([...args, process.execPath, program, model], {
  env: { GGML_VK_VISIBLE_DEVICES: "0" },
}).ended;
const { warnings, run_dir, target } = JSON.parse(stdout) as {
  readonly warnings: readonly string[];
  readonly run_dir: string;
  readonly target: Readonly<Record<"prompt_tokens" | "decode_tokens", number>>;
};
const warning = warnings.find((text) => text.includes("in memory of the vulkan backend")) ?? "";
say(`llama.cpp ${VERSION} with Vulkan: ${warning === "" ? "nothing is said of its memory" : warning}`);
let isKnown = warning !== "";
for (const [log, word] of [
  ["model", "weights"],
  ["KV", "KV caches"],
  ["compute", "activations"],
] as const) {
  const [truth, found] = [logged(stdout + stderr, log), named(warning, word)];
  say(`  ${word.padEnd(12)} ${found.toFixed(2)} MiB named, ${truth.toFixed(2)} MiB by llama.cpp`);
  isKnown &&= truth > 0 && Math.abs(found - truth) <= 0.01 + 0.005 * truth;
}
const caches = Map.groupBy(
  openRun(run_dir).table("kv_block_lifecycle").toArray() as unknown as { readonly tensor: string }[],
  ({ tensor }) => tensor,
);
const counts = [...caches.values()].map((rows) => rows.length);
const tokens = target.prompt_tokens + target.decode_tokens;
say(`  cache rows   ${counts.join(", ")} in ${[...caches.keys()].join(", ")}; ${tokens} tokens in steps`);
isKnown &&= counts.length === 4 && counts.every((count) => count === tokens);
const late = await attached(model);
const why = late.find((text) => text.includes("vulkan backend before the tracer came is not identifiable"));
say(`  attached     ${why ?? "nothing is said of what lay there before"}`);
isKnown &&= why !== undefined;
say(
  isKnown ? "vulkan: all of that memory is named, and each row of its caches" : "vulkan: not all is known, see above",
);
process.exit(isKnown ? 0 : 1);
