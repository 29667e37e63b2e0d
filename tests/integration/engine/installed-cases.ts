/** Cases of the contract test of engines that are too large to install for it: scripts/test-engines does, and says where they are. */
import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { Glob } from "bun";
import { type EngineRun, runEngine } from "../../fixtures/engine-run.ts";
import { RUNNERS, type Runner, runOllama } from "../../fixtures/ollama-runner.ts";
import {
  type Case,
  drainsOf,
  later,
  ofLayers,
  ofPairs,
  optionsOf,
  type Places,
  untilMarked,
  upTo,
} from "./contract-case.ts";

const {
  MRM_TRACE_VLLM: vllm,
  MRM_TRACE_VLLM_PYTHON: vllmPython,
  MRM_TRACE_TRANSFORMERS_PYTHON: torchPython,
  MRM_TRACE_OLLAMA: ollama,
} = process.env;
/** They take longer than those that the tests have. */
export const isInstalled = vllm !== undefined || torchPython !== undefined;

const fixture = (name: string): string => new URL(`../../fixtures/${name}`, import.meta.url).pathname;

/** Libraries of the environment that a Python belongs to. */
const librariesOf = (python: string, pattern: string): string[] => [
  ...new Glob(`lib/python*/site-packages/${pattern}`).scanSync({ cwd: dirname(dirname(python)), absolute: true }),
];

/** What a program says in its last line, behind what its libraries print. */
const said = ({ stdout }: EngineRun): { readonly weights: Places; readonly caches: Places } =>
  JSON.parse(stdout.trim().split("\n").at(-1) ?? "");

/** vLLM, of which another case has a stand-in. */
const realVllm = (home: string, python: string, folder: () => string): Case => ({
  caches: ["cache_kv_l0", "cache_kv_l1"],
  weights: (run) => said(run).weights,
  cachePlaces: (run) => said(run).caches,
  sequences: 2,
  async run(steps, how) {
    const mark = join(folder(), `vllm-${steps}`);
    const go = (): void => rmSync(mark);
    const command = [python, fixture("vllm_steps.py"), join(home, "steps-model"), String(steps), mark];
    return await runEngine(command, {
      env: { HOME: home },
      objects: librariesOf(python, "vllm/_C*.so"),
      async when(pid) {
        await untilMarked(mark, pid);
        if (how !== "late") return;
        go();
        await later();
      },
      meanwhile: async () => (how === "late" ? undefined : go()),
      ...drainsOf(how),
    });
  },
  stepsOf: ofPairs,
  tooMany: 5000,
});

/** PyTorch with transformers, of which other cases have stand-ins; no file names its weights. */
const realTorch = (kind: "static" | "dynamic", python: string, folder: () => string): Case => ({
  caches: ofLayers(4),
  weights: (run) => said(run).weights,
  ...(kind === "static" ? { cachePlaces: (run: EngineRun) => said(run).caches } : {}),
  sequences: 2,
  async run(steps, how) {
    const mark = join(folder(), `${kind}-${steps}-${how}`);
    // Names are read once weights were used for half a second.
    const pause_ms = how === "whole" ? 30 : 0;
    const loaded = async (pid: number): Promise<void> => {
      await untilMarked(mark, pid);
      await later();
    };
    const model = join(folder(), "transformers");
    const command = [python, fixture("transformers_steps.py"), model, String(steps), kind, String(pause_ms), mark];
    return await runEngine(command, {
      objects: librariesOf(python, "torch/lib/libtorch_cpu.so"),
      ...optionsOf(how, loaded),
    });
  },
  stepsOf: ofPairs,
  tooMany: 1500,
});

const ENDED_BY_SIGTERM = 143;
export const PROMPT = 66;

/** A runner of Ollama, of which llama.cpp names the tensors of its cache, and Go does not. */
const runnerOf = (program: string, runner: Runner, caches: readonly string[], model: Model): Case => ({
  ...{ caches, weights: model.tensors, sequences: 1, tooMany: 9000, exitCode: ENDED_BY_SIGTERM },
  run: (steps, how) => {
    const late = how === "late" ? { late: later } : {};
    return runOllama(program, runner, model.file(), { prompt: PROMPT, steps, ...late, ...drainsOf(how) });
  },
  stepsOf: (steps) => [upTo(PROMPT), ...upTo(steps - 1, PROMPT).map((position) => [position])],
});

const LAYERS_OF_GO = ["layer0.k", "layer0.v", "layer1.k", "layer1.v"];

/** A model of llama.cpp: where it is, and what its file has. */
export interface Model {
  readonly file: () => string;
  readonly tensors: () => Places;
}

/** Those that are installed. @param folder for what they leave */
export function installedCases(folder: () => string, model: Model): readonly (readonly [string, Case])[] {
  const cases: (readonly [string, Case])[] = [];
  const skip = (name: string, script: string): void =>
    void process.stderr.write(`skipped: ${name} itself: it is installed by scripts/test-engines ${script} alone\n`);
  if (vllm === undefined || vllmPython === undefined) skip("vLLM", "vllm-contract");
  else cases.push(["vLLM itself", realVllm(vllm, vllmPython, folder)]);
  if (torchPython === undefined) skip("PyTorch", "transformers-contract");
  else {
    cases.push(["PyTorch itself with a cache that moves", realTorch("dynamic", torchPython, folder)]);
    cases.push(["PyTorch itself with a cache that stays", realTorch("static", torchPython, folder)]);
  }
  if (ollama === undefined) skip("Ollama", "ollama-contract");
  else {
    cases.push(["Ollama, llama.cpp's runner", runnerOf(ollama, RUNNERS.llamaCpp, ofLayers(2), model)]);
    cases.push(["Ollama, its own engine", runnerOf(ollama, RUNNERS.own, LAYERS_OF_GO, model)]);
  }
  return cases;
}
