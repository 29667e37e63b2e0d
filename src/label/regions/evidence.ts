/**
 * What a label rests on, strongest first, and how far to trust it.
 *
 * engine_probe: the allocator of the engine said so when it placed the tensor. engine_graph: a tensor found in the
 * engine's graph, placed before we looked. file_header: the header of the file that is mapped there names it, or says that
 * it is no tensor. operand: an operator of the engine was given the bytes as its weights, or wrote rows into them, pass after pass. engine_objects: the
 * engine's own objects in its process name it, as they were read once. file: the bytes are a mapped model file; runtime where its tensors are named in another mapping. phase:
 * an anonymous mapping born while the engine loaded or made its context, in a process whose tensors could not be seen.
 * size: such a mapping, by size alone. mapping: only what the kernel says, so the class is runtime beside an engine that
 * tells of all its tensors, and for what can hold none; unknown otherwise. memray: a function of the program asked for the bytes; what for, nobody says, so the class is runtime.
 */
import { wordsOf } from "../../schema/row.ts";
import type { LabelEvidence, MappingKind, Phase, RegionType } from "../../schema/words.ts";

/** Confidence of a label by its evidence, 0 to 1: certain, near certain, and four kinds of guess. */
export const CONFIDENCE: Readonly<Record<LabelEvidence, number>> = {
  engine_probe: 1,
  engine_graph: 0.95,
  file_header: 0.95,
  operand: 0.95,
  engine_objects: 0.95,
  file: 0.95,
  phase: 0.6,
  size: 0.3,
  mapping: 0.5,
  memray: 0.5,
};

export interface Verdict {
  readonly region_type: RegionType;
  readonly evidence: LabelEvidence;
  readonly confidence: number;
}

/** What is known of a mapping, or of the part of one that no tensor covers. */
export interface MappingFacts {
  readonly mapping_kind: MappingKind;
  readonly path: string | null;
  readonly size_bytes: number;
  /** Phase of the process when the mapping was born; null without an engine. */
  readonly born_in: Phase | null;
  /** The engine told where the tensors of this process are. */
  readonly has_tensors: boolean;
  /** The header of its file named tensors of this mapping. */
  readonly is_named: boolean;
  /** It named those of another mapping of the same file in this process. */
  readonly is_named_elsewhere: boolean;
  /** A file from which the process may execute what lies there. */
  readonly is_code: boolean;
  /** A file that begins as a GGUF does, whatever its name. */
  readonly is_gguf: boolean;
  /** Some tensor of this process was named, or some operand of its engine. */
  readonly has_labels: boolean;
  /** An engine was recognised in this process. */
  readonly has_engine: boolean;
  /** That engine loaded a model or computed here; a process may map its library and do neither. */
  readonly engine_worked: boolean;
}

/** Frames of calls, and pages of the kernel's own. */
const NO_TENSORS: ReadonlySet<MappingKind> = new Set(["stack", "vdso"]);
/** Files whose data is that of a language: the interpreter of Python, what runs C and C++ programs, and what shares work among threads. */
const LANGUAGE_FILE =
  /\/(?:python3(?:\.\d+)?|(?:libpython3\.\d+|libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s|libgomp|ld-linux-x86-64)(?:-[0-9a-f]{8})?\.so[\d.]*)( \(deleted\))?$/;
/** Names of files that hold a model. */
export const MODEL_FILE = /\.(gguf|safetensors)( \(deleted\))?$/;
/** Mappings from which an engine without a tensor map is taken to hold data of the model, bytes. */
export const MODEL_DATA_BYTES = 8 * 2 ** 20;

function verdict(region_type: RegionType, evidence: LabelEvidence): Verdict {
  return { region_type, evidence, confidence: CONFIDENCE[evidence] };
}

/** The class of memory that no tensor of the engine covers. */
export function classifyMapping(facts: MappingFacts): Verdict {
  const isModel = facts.mapping_kind === "file" && (facts.is_gguf || MODEL_FILE.test(facts.path ?? ""));
  if (isModel && facts.is_named) return verdict("runtime", "file_header");
  // A loader maps the file for itself, to read its header: the same pages would count twice.
  if (isModel && facts.is_named_elsewhere) return verdict("runtime", "file");
  // Where the engine named the tensors, the rest of the file is its directory, or a mapping that no tensor came to lie in.
  if (isModel && !facts.has_tensors) return verdict("weight", "file");
  // Code, stacks, the kernel's pages and the data of a language hold nothing of a model, whoever does not tell of the rest.
  const isLanguage = facts.mapping_kind === "file" && LANGUAGE_FILE.test(facts.path ?? "");
  const isKnown = facts.has_labels && (facts.is_code || isLanguage || NO_TENSORS.has(facts.mapping_kind));
  if (!facts.has_engine) return verdict(isKnown ? "runtime" : "unknown", "mapping");
  const guessable =
    facts.engine_worked && !facts.has_tensors && (facts.mapping_kind === "anon" || facts.mapping_kind === "shmem");
  if (guessable && facts.size_bytes >= MODEL_DATA_BYTES) {
    if (facts.born_in === "weight_load") return verdict("weight", "phase");
    if (facts.born_in === "generation") return verdict("activation", "phase");
    return verdict("activation", "size");
  }
  return verdict("runtime", "mapping");
}

/** The class that the engine gave a tensor or a buffer; what it does not name is runtime. */
export function engineVerdict(regionType: string | null, evidence: string): Verdict {
  const region = wordsOf("tensor", "region_type").find((word) => word === regionType);
  return verdict(
    region ?? "runtime",
    wordsOf("tensor", "evidence").find((word) => word === evidence) ?? "engine_probe",
  );
}
