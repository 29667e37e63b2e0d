/** What is wrong with an experiment beyond its form: models, files, names, and combinations that cannot run. */
import { statSync } from "node:fs";
import { type ConfigFile, inOrder, MOST_PROBLEMS } from "../config/config-file.ts";
import { modelSchema, promptsSchema, type SweepConfig, sweepSchema } from "../config/experiment-schema.ts";
import { type ConfigProblem, problemAt, valueAt } from "../config/problem.ts";
import { isPromptFile, promptFileProblem } from "../demo/prompt-file.ts";
import { readGgufFile } from "../engine/gguf/file.ts";
import { MrmTraceError } from "../errors.ts";
import { modelSlug } from "../run-directory/run-directory.ts";
import { findProgram } from "../target/held-command.ts";
import { OLLAMA_PROGRAM } from "./ollama-run.ts";
import { SCRIPT_PROGRAM } from "./script-run.ts";
import { SERVER_PROGRAM } from "./server-run.ts";
import { cellsOf, countRuns, promptRoom } from "./sweep.ts";
import { vllmProblem } from "./vllm-run.ts";

export interface CheckedConfig {
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
  /** Runs that the file declares; null where that cannot be told. */
  readonly runs: { readonly total: number; readonly warmups: number; readonly models: number } | null;
}

const HUB = "nothing is fetched from a hub: a run must not depend on the network, nor on what is there today";
/** The sweep says how long the context is and how much is decoded. */
const DECIDED_BY_SWEEP = ["seconds", "tokens", "prompt_tokens", "context_tokens", "sequences", "model", "prompts"];

/** All problems of a file, those of its form and those of its meaning, in the order of the file. */
export function checkConfig(file: ConfigFile, maxRuns: number): CheckedConfig {
  const { yaml } = file;
  const problems = [...file.problems];
  const warnings = [...file.warnings];
  const models = valueAt(yaml.value, ["models"]);
  const given = ["experiment", "sweep", "prompts"].filter((name) => valueAt(yaml.value, [name]) !== undefined);
  if (models === undefined) {
    for (const name of given.slice(0, 1)) {
      problems.push(
        problemAt(yaml, [name], "models are missing: there is nothing to run", { what: "key", received: null }),
      );
    }
    return { problems: inOrder(problems), warnings, runs: null };
  }
  if (valueAt(yaml.value, ["experiment"]) === undefined) {
    problems.push(
      problemAt(yaml, ["models"], "an experiment needs `experiment: {name: ...}`", { what: "key", received: null }),
    );
  }
  const list = Array.isArray(models) ? models : [];
  problems.push(
    ...list.slice(0, MOST_PROBLEMS).flatMap((_, index) => modelProblems(file, index)),
    ...sameNames(file, list),
    ...exactProblems(file, list),
  );
  for (const name of DECIDED_BY_SWEEP) {
    if (valueAt(yaml.value, ["demo", name]) === undefined) continue;
    const hint = "leave it out: the sweep, the models and the prompts decide it";
    warnings.push(
      problemAt(yaml, ["demo", name], "does nothing in an experiment", { hint, what: "key", received: null }),
    );
  }
  const sweep = sweepSchema.safeParse(valueAt(yaml.value, ["sweep"]) ?? {});
  const prompts = promptsSchema.safeParse(valueAt(yaml.value, ["prompts"]) ?? {});
  if (prompts.success) problems.push(...promptProblems(file, prompts.data.source));
  if (!sweep.success) return { problems: inOrder(problems), warnings: inOrder(warnings), runs: null };
  const counted = countRuns(list.length, sweep.data);
  problems.push(...sweepProblems(file, sweep.data, counted.total, maxRuns));
  if (prompts.success && counted.total <= maxRuns) {
    problems.push(...roomProblems(file, sweep.data, prompts.data.tokens));
  }
  const runs = { ...counted, models: list.length };
  return { problems: inOrder(problems).slice(0, MOST_PROBLEMS), warnings: inOrder(warnings), runs };
}

/** Control and direction characters, and what a path would read as more than a name. */
const HOSTILE = /[\p{Cc}\p{Cf}\\]|^[/~.]|(?:^|\/)\.\.(?:\/|$)/u;

/** The servers that an experiment starts, and how one is had. */
const SERVERS: Readonly<Record<string, readonly [program: string, hint: string]>> = {
  "llama-server": [SERVER_PROGRAM, "install llama.cpp, and put the folder of its llama-server into PATH"],
  ollama: [OLLAMA_PROGRAM, "install Ollama, and put the folder of its program into PATH"],
};

function modelProblems({ yaml }: ConfigFile, index: number): ConfigProblem[] {
  const pathOf = (key: string) => ["models", index, key];
  const value = valueAt(yaml.value, ["models", index]);
  const found: ConfigProblem[] = [];
  const id = valueAt(value, ["id"]);
  if (typeof id === "string" && (HOSTILE.test(id) || modelSlug(id) === "unknown")) {
    const hint = "give a name without .., \\, control characters, or a first / ~ or .";
    found.push(problemAt(yaml, pathOf("id"), "this id is no name for a folder", { hint }));
  }
  const parsed = modelSchema.partial({ id: true }).safeParse(value);
  if (!parsed.success) return found;
  const { engine, path, hf_repo, params, type } = parsed.data;
  if (engine === "vllm") {
    found.push(...vllmProblems(yaml, pathOf, path, hf_repo));
  } else if (engine === "transformers") {
    found.push(...scriptProblems(yaml, pathOf, path));
  } else if (engine === "demo") {
    if (path !== undefined) {
      found.push(
        problemAt(yaml, pathOf("path"), "a demo model has no file", { hint: "use engine: llamacpp", what: "key" }),
      );
    }
  } else {
    for (const [key, given] of [["params", params] as const, ["type", type] as const]) {
      if (given !== undefined) {
        found.push(problemAt(yaml, pathOf(key), "is of demo models", { hint: "use engine: demo", what: "key" }));
      }
    }
    found.push(...fileProblems(yaml, pathOf, engine, path, hf_repo));
    const [program, hint] = SERVERS[engine] ?? [];
    if (program !== undefined && hint !== undefined && !isOnPath(program)) {
      const message = `there is no ${program} on PATH`;
      found.push(problemAt(yaml, pathOf("engine"), message, { hint, code: "environment" }));
    }
  }
  return found;
}

function isOnPath(program: string): boolean {
  try {
    findProgram(program);
    return true;
  } catch (error) {
    if (error instanceof MrmTraceError) return false;
    throw error;
  }
}

function scriptProblems(
  yaml: ConfigFile["yaml"],
  keyPath: (key: string) => PropertyKey[],
  path: string | undefined,
): ConfigProblem[] {
  const hint = "give path: SCRIPT.py, which loads the model and generates; docs/experiments.md says what it is told";
  if (path === undefined) {
    return [problemAt(yaml, keyPath("engine"), "a transformers model needs a script", { hint, received: null })];
  }
  if (!isFile(path)) {
    const message = isMissing(path) ? `there is no such file in ${process.cwd()}` : "no file that can be looked at";
    return [problemAt(yaml, keyPath("path"), message, { hint })];
  }
  if (isOnPath(SCRIPT_PROGRAM)) return [];
  const message = `there is no ${SCRIPT_PROGRAM} on PATH`;
  const missing = "put the folder of the Python that has transformers into PATH, as activating its environment does";
  return [problemAt(yaml, keyPath("engine"), message, { hint: missing, code: "environment" })];
}

function vllmProblems(
  yaml: ConfigFile["yaml"],
  keyPath: (key: string) => PropertyKey[],
  path: string | undefined,
  hf_repo: string | undefined,
): ConfigProblem[] {
  if (path === undefined && hf_repo !== undefined) return [hubProblem(yaml, keyPath)];
  const problem = vllmProblem(path);
  if (problem === null) return [];
  const { key, message, isEnvironment } = problem;
  if (isEnvironment) {
    const hint = "put the folder of the Python that has vllm into PATH, as activating its environment does";
    return [problemAt(yaml, keyPath(key), message, { hint, code: "environment" })];
  }
  const hint = "give path: FOLDER, with config.json and the weights as safetensors";
  return [problemAt(yaml, keyPath(key), message, path === undefined ? { hint, received: null } : { hint })];
}

function hubProblem(yaml: ConfigFile["yaml"], keyPath: (key: string) => PropertyKey[]): ConfigProblem {
  const hint = `${HUB}; download it and give path`;
  return problemAt(yaml, keyPath("hf_repo"), "a model from a hub is refused", { hint });
}

/** False too where a folder on the way may not be entered, so that nobody knows. */
function isMissing(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

/** False too where a folder on the way may not be entered. */
function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    return false;
  }
}

function fileProblems(
  yaml: ConfigFile["yaml"],
  keyPath: (key: string) => PropertyKey[],
  engine: string,
  path: string | undefined,
  hf_repo: string | undefined,
): ConfigProblem[] {
  if (path === undefined) {
    if (hf_repo === undefined) {
      const hint = "add path: MODEL.gguf; mrm-trace model --out MODEL.gguf writes one of random weights";
      return [problemAt(yaml, keyPath("engine"), `a ${engine} model needs a path`, { hint, received: null })];
    }
    return [hubProblem(yaml, keyPath)];
  }
  const gguf = readGgufFile(path);
  if (gguf.ok) return [];
  const message = isMissing(path) ? `there is no such file in ${process.cwd()}` : `no whole GGUF: ${gguf.reason}`;
  return [problemAt(yaml, keyPath("path"), message, { hint: "give the path of a GGUF file, from the current folder" })];
}

/** Ids that would share a folder. */
function sameNames({ yaml }: ConfigFile, models: readonly unknown[]): ConfigProblem[] {
  const first = new Map<string, number>();
  return models.flatMap((model, index) => {
    const id = valueAt(model, ["id"]);
    if (typeof id !== "string") return [];
    const slug = modelSlug(id);
    const other = first.get(slug);
    if (other === undefined) {
      first.set(slug, index);
      return [];
    }
    const hint = `give each model an id of its own: models[${other}] has the folder ${slug} already`;
    return [problemAt(yaml, ["models", index, "id"], "id given twice", { hint })];
  });
}

/** Prompts of an exact length for a server that does not tell the tokens of a text. */
function exactProblems({ yaml }: ConfigFile, models: readonly unknown[]): ConfigProblem[] {
  const path = ["prompts", "tokens"];
  if (valueAt(yaml.value, path) === undefined) return [];
  if (!models.some((model) => valueAt(model, ["engine"]) === "ollama")) return [];
  const message = "ollama does not tell the tokens of a text, so that no prompt can be brought to this length";
  return [problemAt(yaml, path, message, { hint: "leave it out, or use engine: llama-server" })];
}

function promptProblems({ yaml }: ConfigFile, source: string): ConfigProblem[] {
  const path = ["prompts", "source"];
  if (source === "random") return [];
  if (!isPromptFile(source)) {
    const hint = `${HUB}; download it and name the file, or use source: random`;
    return [problemAt(yaml, path, "no local file and not `random`: a source from a hub is refused", { hint })];
  }
  const categories = valueAt(yaml.value, ["prompts", "categories"]);
  const reason = promptFileProblem(source, Array.isArray(categories) ? categories.map(String) : []);
  return reason === null ? [] : [problemAt(yaml, path, reason, { hint: "see docs/config.md, prompts.source" })];
}

function sweepProblems({ yaml }: ConfigFile, sweep: SweepConfig, total: number, maxRuns: number): ConfigProblem[] {
  const found: ConfigProblem[] = [];
  for (const axis of ["context_lengths", "batch_sizes", "output_tokens"] as const) {
    const twice = sweep[axis].findIndex((value, index) => sweep[axis].indexOf(value) !== index);
    if (twice >= 0) {
      const hint = "leave one out: each value is run once, and sweep.repetitions makes more runs of it";
      found.push(problemAt(yaml, ["sweep", axis, twice], "value given twice", { hint }));
    }
  }
  if (total > maxRuns) {
    const hint = `make the sweep smaller, or say that you mean it: --max-runs ${total}`;
    found.push(
      problemAt(yaml, ["sweep"], `${total} runs, more than the limit of ${maxRuns}`, {
        hint,
        what: "key",
        received: null,
      }),
    );
  }
  return found;
}

/** Combinations in which a prompt does not fit. */
function roomProblems({ yaml }: ConfigFile, sweep: SweepConfig, tokens: number | undefined): ConfigProblem[] {
  const found: ConfigProblem[] = [];
  const seen = new Set<string>();
  const model = { id: "any", engine: "llamacpp" } as const;
  for (const cell of cellsOf({ models: [model], sweep, prompts: { source: "random", tokens } })) {
    const { context_length, output_tokens, prompt_tokens } = cell;
    const room = promptRoom(context_length, output_tokens);
    const name = `${context_length}/${output_tokens}`;
    if (seen.has(name) || (room >= 1 && prompt_tokens <= room)) continue;
    seen.add(name);
    const path = tokens === undefined || room < 1 ? ["sweep", "output_tokens"] : ["prompts", "tokens"];
    const message =
      room < 1
        ? `${output_tokens} output tokens leave no room for a prompt in a context of ${context_length}`
        : `a prompt of ${prompt_tokens} and ${output_tokens} output tokens do not fit into a context of ${context_length}`;
    found.push(problemAt(yaml, path, message, { what: "key", received: null }));
  }
  return found;
}
