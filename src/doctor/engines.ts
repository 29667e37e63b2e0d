/** The inference engines that are here: the demo's own, and those on PATH. */
import { demoCacheDir } from "../demo/cache.ts";
import { installedDemoEngine } from "../demo/install.ts";
import { ENGINES } from "../engine/engines.ts";
import { check } from "../schema/check.ts";
import type { Check } from "../schema/examination.ts";
import { programPath } from "./software.ts";

export interface EngineFacts {
  readonly demo: string | null;
  /** True where the demo engine is built for this machine. */
  readonly demo_possible: boolean;
  readonly found: readonly { readonly name: string; readonly path: string; readonly recognised: boolean }[];
}

/** Programs of which no tensors and steps are read: kinds of mapping are told. */
const OTHERS = ["ollama", "vllm", "sglang", "text-generation-launcher"];

const PROGRAMS = [
  ...ENGINES.flatMap(({ programs }) => programs).map((name) => ({ name, recognised: true })),
  ...OTHERS.map((name) => ({ name, recognised: false })),
];

export function engineFacts(): EngineFacts {
  const found = PROGRAMS.flatMap(({ name, recognised }) => {
    const path = programPath(name);
    return path === null ? [] : [{ name, path, recognised }];
  });
  return {
    demo: installedDemoEngine(demoCacheDir()),
    demo_possible: process.platform === "linux" && process.arch === "x64",
    found,
  };
}

function judgeDemo({ demo, demo_possible }: EngineFacts): Check {
  const data = { path: demo };
  if (demo !== null) return check("demo_engine", "ok", demo, { data });
  if (!demo_possible) {
    return check("demo_engine", "info", "none for this processor: the demo's llama.cpp is built for x86-64", {
      fix: "mrm-trace run -- COMMAND",
      data,
    });
  }
  return check("demo_engine", "info", "not installed yet: the first run without a command downloads 35 MB", {
    fix: "sudo mrm-trace run",
    data,
  });
}

function judgeFound({ found }: EngineFacts): Check {
  const data = { found };
  if (found.length === 0) return check("engines", "info", "none on PATH: give the full path behind --", { data });
  const text = found.map(
    ({ name, path, recognised }) => `${name} (${path}${recognised ? "" : ", told by kind of mapping"})`,
  );
  return check("engines", "ok", text.join(", "), { data });
}

export function judgeEngines(facts: EngineFacts): Check[] {
  return [judgeDemo(facts), judgeFound(facts)];
}
