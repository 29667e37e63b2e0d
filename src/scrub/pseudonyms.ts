/** Texts of a run in the form in which they may be shared: words that everybody has, and keyed hashes of all others. */
import { createHmac, randomBytes } from "node:crypto";
import { ALLOCATORS } from "../collect/memray/format/allocator.ts";
import { ENGINES } from "../engine/engines.ts";
import { TENSOR_TYPES } from "../engine/gguf/tensor-type.ts";
import { SAFETENSORS } from "../engine/safetensors/file.ts";
import { SAFETENSORS_TYPES } from "../engine/safetensors/header.ts";
import { SILENT_ENGINES } from "../engine/silent-engines.ts";
import { DATA_CLASSES, MAPPING_KINDS, REGION_TYPES } from "../schema/words.ts";

const KEY_BYTES = 32;
/** Digits of a hash: of a million names, two are alike once in 10^7 runs. */
const DIGITS = 16;

/** Types of elements that files of models have. */
export const STORAGE_TYPES: ReadonlySet<string> = new Set([
  ...[...TENSOR_TYPES.values()].map(({ name }) => name),
  ...SAFETENSORS_TYPES,
]);
const ENGINE_NAMES = new Set([...ENGINES, ...SILENT_ENGINES].map(({ name }) => name).concat(SAFETENSORS));
const ALLOCATOR_NAMES = new Set<string>([...ALLOCATORS, "all"]);
/** Names that the kernel gives to mappings of every process. */
const KERNEL_PATH =
  /^(?:\[(?:heap|stack|vdso|vvar|vvar_vclock|vsyscall|vectors|uprobes)\]|\/dev\/zero|\/anon_hugepage)$/;
/** Names of memory that a program chose, and what the kernel puts before. */
const OWN_PATH = /^(\[anon(?:_shmem)?:|\/memfd:|\/SYSV|\/dev\/shm\/)/;
const DELETED = " (deleted)";
/** Endings by which files of models are known. */
const MODEL_END = /\.(?:gguf|safetensors)$/;
/** Tensors that models of many kinds have, by the names that GGUF files give them. */
const BLOCK_PART =
  "attn_norm|attn_norm_2|attn_q|attn_k|attn_v|attn_qkv|attn_output|attn_q_norm|attn_k_norm|attn_rot_embd|" +
  "post_attention_norm|post_ffw_norm|ffn_norm|ffn_gate|ffn_up|ffn_down|ffn_gate_inp|ffn_gate_exps|ffn_up_exps|ffn_down_exps";
const KNOWN_TENSOR = new RegExp(
  `^(?:(?:token_embd|token_types|position_embd|output|output_norm|rope_freqs|blk\\.\\d{1,4}\\.(?:${BLOCK_PART}))\\.(?:weight|bias)|cache_(?:swa_)?(?:kv|[kvrs])_l\\d{1,4})$`,
);
const KNOWN_LOGICAL = /^layer\d{1,4}\.(?:kv|[kvrs])$/;
const SHAPE = /^\d{1,15}(?:x\d{1,15}){0,7}$/;
const STRATUM_WORDS = new Set<string>([
  ...Object.keys(REGION_TYPES),
  ...Object.keys(DATA_CLASSES),
  ...Object.keys(MAPPING_KINDS),
  ...STORAGE_TYPES,
  ...["k", "v", "kv", "r", "s", "sampled", "named", "breakpoint", "reused", "most_reused"],
]);

/** What vLLM puts before the name of a request that asks for several answers, and behind a word where it searches by beams. */
const ANSWER_NUMBER = /^(\d{1,3}_)?(.*)$/s;
const BEAM_NUMBER = /^\d{1,3}$/;

/** Each text has one pseudonym in a run, and another in the next. */
export interface Pseudonyms {
  name(text: string): string;
  /** Name of a request, part by part: the server's in its answer is the beginning of the engine's, before a dash. */
  request(text: string): string;
  path(text: string): string;
  tensor(text: string): string;
  logical_id(text: string): string;
  storage_type(text: string): string;
  /** Null for what is no shape. */
  shape(text: string): string | null;
  stratum(text: string): string;
  engine(text: string): string;
  allocator(text: string): string;
  /** A number in place of another, 0 for 0: below 2^48, or below 2^`bits` where that is less. */
  number(kind: string, value: bigint, bits: number): bigint;
}

/** Pseudonyms by a key that is kept nowhere: who has the run cannot try names. */
export function pseudonyms(key: Uint8Array = randomBytes(KEY_BYTES)): Pseudonyms {
  function hash(kind: string, text: string): string {
    return createHmac("sha256", key).update(`${kind}\0${text}`).digest("hex").slice(0, DIGITS);
  }

  const orHash = (kind: string, words: ReadonlySet<string> | RegExp, text: string): string => {
    const isKnown = words instanceof RegExp ? words.test(text) : words.has(text);
    return isKnown ? text : `${kind}-${hash(kind, text)}`;
  };

  function path(text: string): string {
    const isDeleted = text.endsWith(DELETED);
    const end = isDeleted ? DELETED : "";
    const whole = isDeleted ? text.slice(0, -DELETED.length) : text;
    if (whole === "" || KERNEL_PATH.test(whole)) return text;
    if (whole.startsWith("[stack:")) return "[stack:0]";
    const [, prefix] = OWN_PATH.exec(whole) ?? [];
    if (prefix !== undefined) return `${prefix}${hash("path", whole)}${prefix.startsWith("[") ? "]" : ""}${end}`;
    return `/file-${hash("path", whole)}${MODEL_END.exec(whole)?.[0] ?? ""}${end}`;
  }

  return {
    name: (text) => (text === "" ? "" : `name-${hash("name", text)}`),
    request(text) {
      const [, answer = "", name = ""] = ANSWER_NUMBER.exec(text) ?? [];
      const parts = name.split("-");
      // By these the engine's requests are told that are answers, or beams, of one.
      const isOfEngine = (part: string, i: number): boolean =>
        part === "beam" || (parts[i - 1] === "beam" && BEAM_NUMBER.test(part));
      return answer + parts.map((part, i) => (isOfEngine(part, i) ? part : hash("request", part))).join("-");
    },
    path,
    tensor: (text) => orHash("tensor", KNOWN_TENSOR, text),
    logical_id(text) {
      if (KNOWN_LOGICAL.test(text) || KNOWN_TENSOR.test(text)) return text;
      // Of caches of other engines the part is told by the end.
      return `tensor-${hash("tensor", text)}${/\.[kvrs]$/.exec(text)?.[0] ?? ""}`;
    },
    storage_type: (text) => orHash("type", STORAGE_TYPES, text),
    shape: (text) => (SHAPE.test(text) ? text : null),
    stratum(text) {
      const isKnown = (part: string): boolean => STRATUM_WORDS.has(part) || /^\d{1,6}$/.test(part);
      return text
        .split("/")
        .map((part) => (isKnown(part) ? part : `part-${hash("stratum", part)}`))
        .join("/");
    },
    engine: (text) => orHash("engine", ENGINE_NAMES, text),
    allocator: (text) => orHash("function", ALLOCATOR_NAMES, text),
    number(kind, value, bits) {
      if (value === 0n) return 0n;
      const drawn =
        BigInt(`0x${hash(kind, value.toString()).slice(0, 12)}`) & ((1n << BigInt(Math.min(48, bits))) - 1n);
      return drawn === 0n ? 1n : drawn;
    },
  };
}
