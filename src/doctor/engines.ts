/** The inference engines that are here: the demo's own, those on PATH and in the Python on PATH, each with what a run will know of it. */
import { basename } from "node:path";
import { demoCacheDir } from "../demo/cache.ts";
import { installedDemoEngine } from "../demo/install.ts";
import { llamaCpp } from "../engine/llama-cpp/llama-cpp.ts";
import { pytorch } from "../engine/pytorch/pytorch.ts";
import { SAFETENSORS } from "../engine/safetensors/file.ts";
import { UNTOLD } from "../engine/silent-engines.ts";
import { vllm } from "../engine/vllm/vllm.ts";
import { check } from "../schema/check.ts";
import type { Check } from "../schema/examination.ts";
import { type ProgramBuild, programBuild } from "./engine-build.ts";
import { programPath } from "./software.ts";
import { torchLibraries } from "./torch-libraries.ts";
import { vllmLibraries } from "./vllm-libraries.ts";

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

/** An engine by the programs that run it, or by its library, and what is known of it. */
interface ListedEngine {
  readonly name: string;
  readonly programs: readonly string[];
  /** Libraries of it that are here; none unless told. */
  readonly libraries?: () => readonly string[];
  readonly will_be_known: string;
}

const ALL = "tensors by name, KV cells, steps and tokens";
const WEIGHTS = "weights by name where a file of them stays mapped";
const PAGED =
  "on a CPU, x86-64, as in 0.32: the KV cache by layer, rows and sequences, steps and tokens, and with Python 3.11 to 3.13 weights and requests by name; activations are not identifiable";
const KINDS = "kinds of mapping, faults and accesses, but no tensors, steps or tokens";

const LISTED: readonly ListedEngine[] = [
  { name: llamaCpp.name, programs: llamaCpp.programs, will_be_known: ALL },
  {
    name: pytorch.name,
    programs: [],
    libraries: torchLibraries,
    will_be_known: `steps and tokens by forward pass, ${WEIGHTS} or modules of Python hold them, static and dynamic KV caches by layer; any other ${UNTOLD}`,
  },
  {
    name: "ollama",
    programs: ["ollama"],
    will_be_known: `${ALL}; of the models that its own engine runs, KV by layer`,
  },
  { name: vllm.name, programs: vllm.programs, libraries: vllmLibraries, will_be_known: PAGED },
  { name: "sglang", programs: ["sglang"], will_be_known: KINDS },
  { name: "tgi", programs: ["text-generation-launcher"], will_be_known: KINDS },
];

export function engineFacts(): EngineFacts {
  const found = LISTED.flatMap(({ name: engine, programs, libraries = () => [] }) => {
    const onPath = programs.flatMap((name) => {
      const path = programPath(name);
      return path === null ? [] : [path];
    });
    return [...onPath, ...libraries()].map((path) => ({ engine, name: basename(path), path, ...programBuild(path) }));
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

function programText({ name, path, build, functions }: FoundProgram): string {
  const where = functions > 0 ? `${functions} of its functions can be probed` : null;
  return `${name} (${[path, build ?? "it names no build", where].filter((part) => part !== null).join(", ")})`;
}

/** One engine of the list: where it is, its build, and what a run will know of it. */
function judgeEngine({ name, programs, libraries, will_be_known }: ListedEngine, facts: EngineFacts): Check {
  const found = facts.found.filter(({ engine }) => engine === name);
  const data = { found, will_be_known };
  if (found.length === 0) {
    const places = [
      ...(programs.length === 0 ? [] : [`on PATH (${programs.join(", ")})`]),
      ...(libraries === undefined ? [] : ["in the Python on PATH"]),
    ];
    const where = `not ${places.join(", nor ")}`;
    const none = `${where}; attach to it, or give its path behind --: ${will_be_known}`;
    return check(`engine: ${name}`, "info", none, { data });
  }
  return check(`engine: ${name}`, "ok", `${found.map(programText).join(", ")}: ${will_be_known}`, { data });
}

/** What is known of any program that maps files which name their tensors. */
function judgeWeightFiles(): Check {
  const text = `whatever maps *.${SAFETENSORS}: ${WEIGHTS}, whatever engine it has`;
  return check("weight_files", "info", text);
}

export function judgeEngines(facts: EngineFacts): Check[] {
  return [judgeDemo(facts), ...LISTED.map((engine) => judgeEngine(engine, facts)), judgeWeightFiles()];
}
