import { describe, expect, test } from "bun:test";
import { debugDataOf } from "../../../../src/elf/debug-data.ts";
import { readElf } from "../../../../src/elf/elf.ts";
import { openFileBytes } from "../../../../src/elf/file-bytes.ts";
import { offsetsOfDebugData, structuresOf } from "../../../../src/engine/llama-cpp/debug-offsets.ts";
import { chooseLayout } from "../../../../src/engine/llama-cpp/layout-choice.ts";
import { BATCH, GGML_LAYOUT, LLAMA_PARAMS } from "../../../../src/engine/llama-cpp/offsets.ts";
import { compileDebugged } from "../../../fixtures/with-debug-data.ts";

const ALL = ["ggml_tensor", "ggml_backend_buffer", "ggml_cgraph", "ggml_op", "llama_context_params", "llama_batch"];

function dataOf(path: string, names: readonly string[] = ALL) {
  using bytes = openFileBytes(path);
  const elf = bytes === null ? null : readElf(bytes);
  if (!elf?.ok) throw new Error(`${path} cannot be read`);
  const local = elf.localFunctions(["ggml_graph_compute", "llama_init_from_model", "llama_decode"]);
  expect(structuresOf({ symbol: (name) => local.get(name) })).toEqual(ALL);
  const data = debugDataOf(elf, path, "", names);
  if (!data.ok) throw new Error(data.reason ?? "none");
  return data;
}
const plain = dataOf(compileDebugged("debugged-engine", "cc", "-gdwarf-5"));
const moved = dataOf(compileDebugged("debugged-engine", "cc", "-gdwarf-4", "-DMOVED"));
const unknown = { soname: null, buildId: null };

/** The same data, where a structure has another member. */
function changed(structure: string, member: string, place: { readonly offset: number; readonly bytes: number } | null) {
  const structures = new Map(plain.structures);
  const { bytes = 0, members } = structures.get(structure) ?? {};
  const others = new Map(members);
  others.delete(member);
  if (place !== null) others.set(member, place);
  return { ...plain, structures: structures.set(structure, { bytes, members: others }) };
}

describe("offsets by debugging data", () => {
  test("are those of the known builds where the structures are", () => {
    const { buffers, ...ggml } = GGML_LAYOUT;
    expect(offsetsOfDebugData(plain)).toEqual({
      ggml: { ...ggml, name: "its debugging data", buffers: [buffers[0]] },
      params: LLAMA_PARAMS,
      batch: BATCH,
    });
    expect(chooseLayout({ ...unknown, debugData: plain })).toMatchObject({ evidence: "dwarf", refused: null });
  });

  test("are those of the library where its structures are laid out in another way", () => {
    expect(offsetsOfDebugData(moved)).toMatchObject({
      ggml: {
        tensor: { op: 96, src: 168, viewSrc: 248, data: 304, name: 312 },
        buffers: [{ context: 120, size: 128, usage: 136 }],
        graph: { nodeCount: 12, nodes: 24 },
        operations: { getRows: 9, setRows: 7 },
        copied: { graph: 64, node: 104, buffer: 144, bufferFrom: 80 },
      },
      params: { contextTokens: 8, flashAttention: 60 },
      batch: { tokens: 0, positions: 40 },
    });
  });

  test("are of what was asked for, and of nothing else", () => {
    const ofContexts = dataOf(compileDebugged("debugged-engine", "cc", "-g"), ALL.slice(4));
    expect(offsetsOfDebugData(ofContexts)).toEqual({ ggml: null, params: LLAMA_PARAMS, batch: BATCH });
    expect(chooseLayout({ ...unknown, debugData: ofContexts }).ggml).toBeNull();
  });

  test("are refused as a whole where one member is missing, of another size, or outside of its structure", () => {
    const reasons = [
      changed("ggml_tensor", "ne", null),
      changed("ggml_tensor", "ne", { offset: 16, bytes: 16 }),
      changed("ggml_tensor", "src", { offset: 152, bytes: 8 }),
      changed("ggml_tensor", "name", { offset: 300, bytes: 64 }),
      changed("llama_context_params", "type_k", { offset: 104, bytes: 1 }),
    ].map(offsetsOfDebugData);
    expect(reasons).toEqual([
      "ggml_tensor has no member ne",
      "ggml_tensor.ne has 16 bytes, not 32",
      "ggml_tensor.src has 8 bytes, which are no pointers of 2 to 64 operands",
      "ggml_tensor.name lies outside of the 336 bytes of its structure",
      "llama_context_params.type_k has 1 bytes, not 4",
    ]);
    const choice = chooseLayout({ ...unknown, debugData: changed("ggml_tensor", "ne", null) });
    expect(choice).toMatchObject({ evidence: "checked", params: null, refused: "ggml_tensor has no member ne" });
  });

  test("are refused where no record has room for what they make it copy", () => {
    const far = changed("ggml_cgraph", "nodes", { offset: 4000, bytes: 8 });
    const structures = new Map(far.structures);
    structures.set("ggml_cgraph", { bytes: 4096, members: structures.get("ggml_cgraph")?.members ?? new Map() });
    expect(offsetsOfDebugData({ ...far, structures })).toMatch(/^no record has room for parts of 4008, /);
  });
});
