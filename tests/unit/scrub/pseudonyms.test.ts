import { expect, test } from "bun:test";
import { wholeRequests } from "../../../src/analyse/requests/whole-requests.ts";
import { classifyMapping } from "../../../src/label/regions/evidence.ts";
import { mappingKindOf } from "../../../src/regions/mapping-row.ts";
import { pseudonyms } from "../../../src/scrub/pseudonyms.ts";
import { scrubbedDetail } from "../../../src/scrub/step-detail.ts";
import { UNTOLD_MAPPING } from "../../fixtures/mapping-facts.ts";

const names = pseudonyms();

test("a name has one pseudonym in a run and another in the next", () => {
  expect(names.name("alice")).toBe(names.name("alice"));
  expect(names.name("alice")).not.toBe(names.name("bob"));
  expect(names.name("alice")).not.toBe(pseudonyms().name("alice"));
  expect(names.name("alice")).not.toContain("alice");
});

test.each([
  "/home/alice/llama-7b.gguf",
  "/home/alice/llama-7b.safetensors (deleted)",
  "/usr/lib/secret.so",
  "/memfd:alice (deleted)",
  "/dev/shm/alice",
  "/SYSV00001234 (deleted)",
  "/dev/zero (deleted)",
  "[anon:alice]",
  "[anon_shmem:alice]",
  "[heap]",
  "[stack]",
  "[stack:4321]",
  "[vdso]",
  "[alice]",
  "//anon",
])("the pseudonym of %s is of the same kind of mapping and of the same class", (path) => {
  const hidden = names.path(path);
  expect(hidden).not.toMatch(/alice|secret|llama|SYSV00001234|stack:4321/);
  const kind = mappingKindOf(2, path);
  expect(mappingKindOf(2, hidden)).toBe(kind);
  const facts = { ...UNTOLD_MAPPING, mapping_kind: kind, size_bytes: 4096 };
  expect(classifyMapping({ ...facts, path: hidden })).toEqual(classifyMapping({ ...facts, path }));
});

test("tensors that every model has keep their names, and others do not", () => {
  for (const name of ["blk.3.attn_q.weight", "token_embd.weight", "cache_k_l12", "cache_swa_v_l1"]) {
    expect(names.tensor(name)).toBe(name);
  }
  for (const name of ["blk.3.alice.weight", "alice", "blk.3.attn_q.weight.alice", "cache_alice_k_l1"]) {
    expect(names.tensor(name)).not.toContain("alice");
  }
  expect(names.logical_id("alice.v")).toMatch(/^tensor-[0-9a-f]{16}\.v$/);
});

test("of a stratum, a type, a shape and a function the known words stay", () => {
  expect(names.stratum("weight/q8_0/sampled")).toBe("weight/q8_0/sampled");
  expect(names.stratum("weight/alice")).toMatch(/^weight\/part-[0-9a-f]{16}$/);
  expect(names.storage_type("q8_0")).toBe("q8_0");
  expect(names.storage_type("alice")).not.toContain("alice");
  expect([names.shape("32x4x1x1"), names.shape("alice")]).toEqual(["32x4x1x1", null]);
  expect(names.allocator("malloc")).toBe("malloc");
  expect(names.engine("llama.cpp")).toBe("llama.cpp");
  expect(names.engine("alice")).not.toContain("alice");
});

test("numbers of files are told apart and fit their column", () => {
  expect(names.number("inode", 0n, 48)).toBe(0n);
  expect(names.number("inode", 7n, 48)).toBe(names.number("inode", 7n, 48));
  expect(names.number("inode", 7n, 48)).not.toBe(names.number("inode", 8n, 48));
  expect(names.number("dev", 7n, 32)).toBeLessThan(2n ** 32n);
});

test("the engine's name of a request begins with the server's as before", () => {
  const [answer, engine] = [names.request("cmpl-alice"), names.request("cmpl-alice-0-f00d")];
  expect(engine.startsWith(`${answer}-`)).toBe(true);
  expect(engine).not.toMatch(/cmpl|alice|f00d/);
  expect(engine.startsWith(`${names.request("cmpl-ali")}-`)).toBe(false);
});

test("the engine's requests that are answers or beams of one are so as before", () => {
  const answers = [0, 1].map((i) => names.request(`${i}_cmpl-alice-0-f00df00d`));
  expect(answers[0]).not.toMatch(/cmpl|alice|f00d/);
  const beams = ["0123456789abcdef", "fedcba9876543210"].map((word, i) =>
    names.request(`cmpl-al-${word}-beam-${i}-f00df00d`),
  );
  const { count, partsOf } = wholeRequests([...answers, ...beams]);
  expect([count, partsOf(answers[0] ?? ""), partsOf(beams[1] ?? "")]).toEqual([2, 2, 2]);
});

test("the detail of a step keeps numbers under known keys, tells handles apart, and nothing else", () => {
  const detail = {
    ...{ context: "0x55aa", path: "/home/alice/m.gguf", kv_rows: [[0, 3, 1]], soname: "alice.so", build_id: "abc" },
    settings: { flash_attention: true, alice: 1 },
    kv_cells: "alice",
    ...{ request: "cmpl-alice", prompt_tokens: 3, generates: false, is_gone: false },
    alice: { kv_rows: 1 },
  };
  const hidden = scrubbedDetail(JSON.stringify(detail), names) ?? "";
  expect(JSON.parse(hidden)).toEqual({
    context: names.name("0x55aa"),
    path: names.path("/home/alice/m.gguf"),
    kv_rows: [[0, 3, 1]],
    settings: { flash_attention: true },
    kv_cells: null,
    ...{ request: names.request("cmpl-alice"), prompt_tokens: 3, generates: false, is_gone: false },
  });
  expect(scrubbedDetail("alice", names)).toBeNull();
  expect(scrubbedDetail('{"alice": 1}', names)).toBeNull();
});
