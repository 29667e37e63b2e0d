/** vLLM on a CPU: its attention gets the whole cache and says which blocks each request has. */
import type { Engine } from "../engine.ts";
import { ENGINE_NAME, probesOf, SYMBOLS } from "./probes.ts";
import { follow } from "./process-state.ts";

const BUILT_ON = ["PyTorch"];

/** Builds whose arguments and structures were held against what vLLM itself says; the others are checked by the same rules. */
const BY_BUILD_ID: ReadonlyMap<string, string> = new Map([
  ["e049afc564da8e5f888e467a53d1f557d37ee63a", "vLLM 0.32.0"],
  ["58b1f0ac2adfc1242fa4df0a9d9b6df7605666d7", "vLLM 0.32.0 (AVX2)"],
  ["5a7894aca68d76ccff90b0bdc356f37dbe55b704", "vLLM 0.32.0 (AVX-512)"],
]);

const PACKAGE = /^vllm(?:_[a-z0-9_]{1,40})?-(\d[\w.+]{0,60})\.dist-info$/;

/** The version that is installed beside the library; null where none is, or several are. */
export function installedVersion(packages: readonly string[]): string | null {
  const versions = new Set(packages.flatMap((name) => PACKAGE.exec(name)?.[1] ?? []));
  const [version = null] = versions;
  return versions.size === 1 ? version : null;
}

function buildOf(buildId: string | null, packages: readonly string[]): string | null {
  const version = installedVersion(packages);
  return BY_BUILD_ID.get(buildId ?? "") ?? (version === null ? null : `vLLM ${version}, as installed`);
}

export const vllm: Engine = {
  name: ENGINE_NAME,
  programs: ["vllm"],
  builtOn: BUILT_ON,
  symbols: SYMBOLS,
  probesOf,
  aboutBuild: ({ buildId }, packages) => ({
    build: buildOf(buildId, packages()),
    version: installedVersion(packages()),
    built_on: BUILT_ON,
    tells_tensors: false,
  }),
  follow: (pid, _, __, addressOf) => follow(pid, addressOf),
};
