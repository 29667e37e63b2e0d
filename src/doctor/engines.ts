/** The inference engines that are here: the demo's own, and those on PATH, each with what a run will know of it. */
import { demoCacheDir } from "../demo/cache.ts";
import { installedDemoEngine } from "../demo/install.ts";
import { ENGINES } from "../engine/engines.ts";
import { SAFETENSORS } from "../engine/safetensors/file.ts";
import { SILENT_ENGINES, UNTOLD } from "../engine/silent-engines.ts";
import { check } from "../schema/check.ts";
import type { Check } from "../schema/examination.ts";
import { type ProgramBuild, programBuild } from "./engine-build.ts";
import { programPath } from "./software.ts";

export interface FoundProgram extends ProgramBuild {
  readonly engine: string;
  readonly name: string;
  readonly path: string;
}

export interface EngineFacts {
  readonly demo: string | null;
  /** True where the demo engine is built for this machine. */
  readonly demo_possible: boolean;
  readonly found: readonly FoundProgram[];
}

/** An engine by the programs that run it, and what is known of it. */
interface ListedEngine {
  readonly name: string;
  readonly programs: readonly string[];
  readonly will_be_known: string;
}

const ALL = "tensors by name, KV cells, steps and tokens";
const KINDS = "kinds of mapping, faults and accesses, but no tensors, steps or tokens";

const LISTED: readonly ListedEngine[] = [
  ...ENGINES.map(({ name, programs }) => ({ name, programs, will_be_known: ALL })),
  {
    name: "ollama",
    programs: ["ollama"],
    will_be_known: `${ALL}; of the models that its own engine runs, weights by name alone`,
  },
  { name: "vllm", programs: ["vllm"], will_be_known: KINDS },
  { name: "sglang", programs: ["sglang"], will_be_known: KINDS },
  { name: "tgi", programs: ["text-generation-launcher"], will_be_known: KINDS },
];

export function engineFacts(): EngineFacts {
  const found = LISTED.flatMap(({ name: engine, programs }) =>
    programs.flatMap((name) => {
      const path = programPath(name);
      return path === null ? [] : [{ engine, name, path, ...programBuild(path) }];
    }),
  );
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

function programText({ name, path, build, functions }: FoundProgram): string {
  const where = functions > 0 ? `${functions} of its functions can be probed` : null;
  return `${name} (${[path, build ?? "it names no build", where].filter((part) => part !== null).join(", ")})`;
}

/** One engine of the list: where it is, its build, and what a run will know of it. */
function judgeEngine({ name, programs, will_be_known }: ListedEngine, facts: EngineFacts): Check {
  const found = facts.found.filter(({ engine }) => engine === name);
  const data = { found, will_be_known };
  if (found.length === 0) {
    const none = `not on PATH (${programs.join(", ")}); attach to it, or give its path behind --: ${will_be_known}`;
    return check(`engine: ${name}`, "info", none, { data });
  }
  return check(`engine: ${name}`, "ok", `${found.map(programText).join(", ")}: ${will_be_known}`, { data });
}

/** What is known of engines that tell nothing of themselves, which are libraries of any program and lie on no PATH. */
function judgeWeightFiles(): Check {
  const names = SILENT_ENGINES.map(({ name }) => name);
  const text = `${names.join(", ")} and whatever maps *.${SAFETENSORS}: weights by name where the file stays mapped; ${UNTOLD}`;
  return check("weight_files", "info", text, { data: { engines: names } });
}

export function judgeEngines(facts: EngineFacts): Check[] {
  return [judgeDemo(facts), ...LISTED.map((engine) => judgeEngine(engine, facts)), judgeWeightFiles()];
}
