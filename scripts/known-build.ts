#!/usr/bin/env bun
/**
 * Makes an entry of src/engine/llama-cpp/known-builds.ts: `bun scripts/known-build.ts LIBRARY NAME`. The library, which makes
 * contexts, is tried: a model of random weights is loaded into a context of given parameters, and all that the probes tell
 * by the offsets that are known must be so. Where it was built with -g, the offsets of its debugging data must be the same.
 * It needs root and python3. Ends with 1 where one check fails: the build has other offsets, or is none of llama.cpp.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { debugDataOf } from "../src/elf/debug-data.ts";
import { readElf } from "../src/elf/elf.ts";
import { openFileBytes } from "../src/elf/file-bytes.ts";
import type { Engine } from "../src/engine/engine.ts";
import { readGgufFile } from "../src/engine/gguf/file.ts";
import { offsetsOfDebugData, structuresOf } from "../src/engine/llama-cpp/debug-offsets.ts";
import { isSameLayout } from "../src/engine/llama-cpp/layout-choice.ts";
import { llamaCpp } from "../src/engine/llama-cpp/llama-cpp.ts";
import { GGML_LAYOUT, LLAMA_PARAMS } from "../src/engine/llama-cpp/offsets.ts";
import { processState } from "../src/engine/llama-cpp/process-state.ts";
import { hasSettings, runEngine } from "../tests/fixtures/engine-run.ts";

const TRIAL = new URL("../tests/fixtures/llama_trial.py", import.meta.url).pathname;
/** What the context is asked to be, none of it by default; ggml's number of the type f32 is 0. */
const [CELLS, SEQUENCES, TYPE_K, FLASH] = [768, 3, 0, 0];
/** A build of which all offsets are known, which the library is taken for. */
const TAKEN_FOR = { soname: "libllama.v0.5.0.so", buildId: null };

function fail(reason: string): never {
  process.stderr.write(`known-build: ${reason}\n`);
  process.exit(1);
}

/** By what a library is told from others. */
function identityOf(path: string): { readonly buildId: string | null; readonly soname: string | null } {
  using bytes = openFileBytes(path);
  if (bytes === null) fail(`${path} cannot be read`);
  const elf = readElf(bytes);
  if (!elf.ok) fail(`${path} is no library: ${elf.reason}`);
  if (elf.dynamicSymbol("llama_init_from_model") === undefined) fail(`${path} does not make contexts of llama.cpp`);
  const [buildId, soname] = [elf.buildId(), elf.soname()];
  if (buildId === null) fail(`${path} has no build id: nothing tells it from another build of the same name`);
  return { buildId, soname };
}

/** Structures whose offsets the library's debugging data says, and why they are not those that are known. */
function byDebuggingData(path: string): { readonly structures: readonly string[]; readonly wrong: readonly string[] } {
  using bytes = openFileBytes(path);
  const elf = bytes === null ? null : readElf(bytes);
  if (!elf?.ok) fail(`${path} cannot be read`);
  const data = debugDataOf(elf, path, "", structuresOf({ symbol: elf.dynamicSymbol }));
  const offsets = data.ok ? offsetsOfDebugData(data) : data.reason;
  if (!data.ok || offsets === null || typeof offsets === "string")
    return { structures: offsets === null ? [] : [`nothing, ${offsets}`], wrong: [] };
  const wrong: string[] = [];
  if (offsets.ggml !== null && !isSameLayout(offsets.ggml, GGML_LAYOUT))
    wrong.push(`its debugging data has other offsets of ggml: ${JSON.stringify(offsets.ggml)}`);
  if (offsets.params !== null && !Bun.deepEquals(offsets.params, LLAMA_PARAMS))
    wrong.push(`its debugging data has other parameters: ${JSON.stringify(offsets.params)}`);
  return { structures: [...data.structures.keys()], wrong };
}

/** What the trial says that is not so. */
async function wrongFacts(library: string, folder: string): Promise<string[]> {
  const engine: Engine = { ...llamaCpp, follow: (pid) => processState(pid, [TAKEN_FOR]) };
  const asked = [CELLS, SEQUENCES, TYPE_K, FLASH].map(String);
  const run = await runEngine(["python3", TRIAL, library, folder, ...asked], {
    engines: [engine],
    objects: [library],
    until: hasSettings,
  });
  if (run.exitCode !== 0)
    return [`the trial ended with ${run.exitCode}: python3 ${TRIAL} ${library} ${folder} ${asked.join(" ")}`];
  const file = readGgufFile(join(folder, "plain.gguf"));
  if (!file.ok) return [file.reason];
  const placed = run.tensors.filter(({ kind }) => kind === "tensor");
  const listed = (region: string) =>
    placed
      .filter(({ region_type }) => region_type === region)
      .map(({ name, size_bytes }) => `${name} ${size_bytes}`)
      .sort();
  const details = (kind: string): Record<string, unknown>[] =>
    run.steps.filter((step) => step.kind === kind).map(({ detail }) => JSON.parse(detail ?? "{}"));
  const settings = details("engine").findLast((detail) => detail.settings !== undefined)?.settings;
  const { n_ctx, n_seq_max, n_threads, flash_attention, type_k, type_v } = details("context").at(-1) ?? {};
  const shapes = placed
    .filter(({ name }) => name?.endsWith("_l0"))
    .map(({ name, tensor_type, shape }) => `${name} ${tensor_type} ${shape}`);
  const pairs: readonly (readonly [what: string, told: unknown, expected: unknown])[] = [
    ["weights", listed("weight"), file.directory.tensors.map(({ name, bytes }) => `${name} ${bytes}`).sort()],
    [
      "cache",
      shapes.sort(),
      [
        `cache_k_l0 f32 32x${CELLS / SEQUENCES}x${SEQUENCES}x1`,
        `cache_v_l0 f16 32x${CELLS / SEQUENCES}x${SEQUENCES}x1`,
      ],
    ],
    [
      "parameters",
      [n_ctx, n_seq_max, n_threads, flash_attention, type_k, type_v],
      [CELLS, SEQUENCES, 1, "off", "f32", "f16"],
    ],
    ["flash attention by the graph", settings, { flash_attention: false, kv_caches: 1 }],
    ["tokens", run.steps.filter(({ kind }) => kind === "decode").map(({ n_tokens }) => n_tokens), [40]],
  ];
  return pairs.flatMap(([what, told, expected]) => {
    const [found = "nothing", asIs = "nothing"] = [JSON.stringify(told), JSON.stringify(expected)];
    return found === asIs ? [] : [`${what}: ${found.slice(0, 300)}, but it is ${asIs.slice(0, 300)}`];
  });
}

const [library, build] = process.argv.slice(2);
if (library === undefined || build === undefined) fail("usage: bun scripts/known-build.ts LIBRARY NAME");
const { buildId, soname } = identityOf(library);
const debugged = byDebuggingData(library);
process.stderr.write(`compared with the library's debugging data: ${debugged.structures.join(", ") || "nothing"}\n`);
const folder = mkdtempSync(join(tmpdir(), "mrm-build-"));
try {
  const wrong = [...debugged.wrong, ...(await wrongFacts(library, folder))];
  if (wrong.length > 0)
    fail(`${library} is no build with the offsets of ${GGML_LAYOUT.name}:\n  ${wrong.join("\n  ")}`);
} finally {
  rmSync(folder, { recursive: true });
}
process.stdout.write(
  `${JSON.stringify({ build, buildId, soname, ggml: GGML_LAYOUT.name, params: "llama.cpp-0.5" })}\n`,
);
