/** The inference engines that are here: the demo's own, programs on PATH, libraries of packages and of the system, each with what a run will know of it. */
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
import type { FoundLibrary } from "./found-library.ts";
import { librariesOfProgram, llamaLibraries, llamaPlaces } from "./llama-libraries.ts";
import { lostWithout } from "./needed-functions.ts";
import { torchLibraries, vllmLibraries } from "./python-libraries.ts";
import { programPath } from "./software.ts";

export interface FoundProgram extends Pick<ProgramBuild, "build" | "functions"> {
  readonly engine: string;
  readonly name: string;
  readonly path: string;
  /** What cannot be known of it for want of functions. */
  readonly lost: readonly string[];
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
  /** Libraries of it that are here, and where they were looked for; none unless there. */
  readonly libraries?: () => readonly FoundLibrary[];
  readonly places?: readonly string[];
  /** Files beside a program that have its functions; none unless there. */
  readonly partsOf?: (program: string) => readonly string[];
  readonly will_be_known: string;
}

const ALL =
  "tensors by name, steps and tokens, and rows of KV caches, but not of layers that keep a state, nor where it is not certain how far layers look back over a window";
const WEIGHTS = "weights by name where a file of them stays mapped";
const PAGED =
  "on a CPU, x86-64, as in 0.32: the KV cache by layer, rows and sequences, steps and tokens, and with Python 3.11 to 3.13 weights and requests by name; activations are not identifiable";
const KINDS = "kinds of mapping, faults and accesses, but no tensors, steps or tokens";
const IN_PYTHONS = "in packages of the Pythons on PATH, of an active environment, or of .venv and venv here";

const LISTED: readonly ListedEngine[] = [
  {
    name: llamaCpp.name,
    programs: llamaCpp.programs,
    libraries: () => llamaLibraries(llamaPlaces()),
    places: [
      "in packages of Python (llama-cpp-python, xllamacpp) or Node (node-llama-cpp)",
      "among the system's libraries",
    ],
    partsOf: librariesOfProgram,
    will_be_known: ALL,
  },
  {
    name: pytorch.name,
    programs: [],
    libraries: () => torchLibraries(llamaPlaces()),
    places: [IN_PYTHONS],
    will_be_known: `steps and tokens by forward pass, ${WEIGHTS} or modules of Python 3.11 to 3.13 hold them, static and dynamic KV caches by layer; any other ${UNTOLD}`,
  },
  {
    name: "ollama",
    programs: ["ollama"],
    will_be_known: `${ALL}; of the models that its own engine runs, KV by layer`,
  },
  {
    name: vllm.name,
    programs: vllm.programs,
    libraries: () => vllmLibraries(llamaPlaces()),
    places: [IN_PYTHONS],
    will_be_known: PAGED,
  },
  { name: "sglang", programs: ["sglang"], will_be_known: KINDS },
  { name: "tgi", programs: ["text-generation-launcher"], will_be_known: KINDS },
];

export function engineFacts(): EngineFacts {
  const found = LISTED.flatMap(({ name: engine, programs, libraries = () => [], partsOf = () => [] }) => {
    const onPath = programs.flatMap((name) => {
      const path = programPath(name);
      return path === null ? [] : [{ name, path, parts: partsOf(path) }];
    });
    return [...onPath, ...libraries()].map(({ name, path, parts }) => {
      const { symbols, ...build } = programBuild(path, parts);
      return { engine, name, path, ...build, lost: symbols === null ? [] : lostWithout(engine, symbols) };
    });
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

const FIX = "use a build that has these functions and names them: one whose libraries are not stripped of symbols";

function programText({ name, path, build, functions, lost }: FoundProgram): string {
  const where = functions > 0 ? `${functions} of its functions can be probed` : null;
  const parts = [path, build ?? "it names no build", where, ...lost].filter((part) => part !== null);
  return `${name} (${parts.join(", ")})`;
}

/** One engine of the list: where it is, its build, and what a run will know of it. */
function judgeEngine({ name, programs, places = [], will_be_known }: ListedEngine, facts: EngineFacts): Check {
  const found = facts.found.filter(({ engine }) => engine === name);
  const data = { found, will_be_known };
  if (found.length === 0) {
    const onPath = programs.length === 0 ? [] : [`on PATH (${programs.join(", ")})`];
    const where = `not ${[...onPath, ...places].join(", nor ")}`;
    const none = `${where}; attach to it, or give its path behind --: ${will_be_known}`;
    return check(`engine: ${name}`, "info", none, { data });
  }
  const summary = `${found.map(programText).join(", ")}: ${will_be_known}`;
  if (found.some(({ lost }) => lost.length === 0)) return check(`engine: ${name}`, "ok", summary, { data });
  return check(`engine: ${name}`, "warn", summary, { fix: FIX, data });
}

/** What is known of any program that maps files which name their tensors. */
function judgeWeightFiles(): Check {
  const text = `whatever maps *.${SAFETENSORS}: ${WEIGHTS}, whatever engine it has`;
  return check("weight_files", "info", text);
}

export function judgeEngines(facts: EngineFacts): Check[] {
  return [judgeDemo(facts), ...LISTED.map((engine) => judgeEngine(engine, facts)), judgeWeightFiles()];
}
