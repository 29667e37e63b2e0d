/** The header of a safetensors file: 8 bytes of length, then JSON that names every tensor behind it. */
import type { ByteSource, NamedTensor, Refusal } from "../tensor-file.ts";
import { type JsonText, jsonText } from "./json-text.ts";

export interface SafetensorsHeader {
  /** In order of their first bytes; those without elements are there too. */
  readonly tensors: readonly NamedTensor[];
  /** Where the tensors begin. */
  readonly dataOffset: number;
  readonly fileBytes: number;
}

/** The header, or why the bytes are none and where that showed. */
export type SafetensorsResult = { readonly ok: true; readonly header: SafetensorsHeader } | Refusal;

const LENGTH_BYTES = 8;
/** The format allows 100 MB; the largest models that are known have headers of some hundred kB in each file. */
export const MAX_HEADER_BYTES = 8 * 2 ** 20;
const MAX_TENSORS = 2 ** 15;
const MAX_DIMENSIONS = 32;
const MAX_NAME_CHARS = 1024;
const MAX_WORD_CHARS = 32;
const METADATA = "__metadata__";
/** Control characters, which could steer a terminal. */
const UNPRINTABLE = /\p{Cc}/u;
const TYPE_NAME = /^[A-Z][A-Z0-9_]*$/;

/** Bits of an element (`Dtype` of the crate safetensors 0.8); other types have the bytes that their offsets say. */
const TYPE_BITS: Readonly<Record<string, number>> = {
  BOOL: 8,
  F4: 4,
  F6_E2M3: 6,
  F6_E3M2: 6,
  U8: 8,
  I8: 8,
  F8_E5M2: 8,
  F8_E4M3: 8,
  F8_E8M0: 8,
  F8_E4M3FNUZ: 8,
  F8_E5M2FNUZ: 8,
  I16: 16,
  U16: 16,
  F16: 16,
  BF16: 16,
  I32: 32,
  U32: 32,
  F32: 32,
  C64: 64,
  F64: 64,
  I64: 64,
  U64: 64,
};

/** The types of the format, as `NamedTensor` has them. */
export const SAFETENSORS_TYPES: readonly string[] = Object.keys(TYPE_BITS).map((name) => name.toLowerCase());

const refusal = (reason: string, offset: number): Refusal => ({ ok: false, reason, offset });
/** A name from the file as text that cannot steer a terminal. */
const shown = (name: string): string => JSON.stringify(name.slice(0, 64));

/**
 * Reads a header from bytes that may be hostile: never throws, never reads past them, time and memory bounded by fixed limits.
 * @param fileBytes length of the whole file where `source` is only its beginning
 */
export function parseSafetensors(source: ByteSource, fileBytes: number = source.size): SafetensorsResult {
  const first = source.read(0, LENGTH_BYTES);
  if (first.length < LENGTH_BYTES) return refusal("shorter than the length of its header", 0);
  const length = new DataView(first.buffer, first.byteOffset, LENGTH_BYTES).getBigUint64(0, true);
  if (length > MAX_HEADER_BYTES) return refusal(`a header of ${length} bytes, ${MAX_HEADER_BYTES} are read`, 0);
  const bytes = source.read(LENGTH_BYTES, Number(length));
  if (bytes.length < Number(length)) {
    return refusal(`a header of ${length} bytes, ${bytes.length} are there`, LENGTH_BYTES);
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return refusal("its header is not UTF-8", LENGTH_BYTES);
  }
  const dataOffset = LENGTH_BYTES + Number(length);
  const json = jsonText(text);
  const tensors = readTensors(json, dataOffset);
  checkPlaces(json, tensors, fileBytes);
  const failure = json.failure();
  if (failure !== null) return refusal(failure.reason, LENGTH_BYTES + failure.offset);
  return { ok: true, header: { tensors, dataOffset, fileBytes } };
}

function readTensors(json: JsonText, dataOffset: number): NamedTensor[] {
  const names = new Set<string>();
  const tensors: NamedTensor[] = [];
  json.each("{}", () => {
    const name = json.key(MAX_NAME_CHARS);
    if (names.has(name)) json.fail(`${shown(name)} stands twice`);
    names.add(name);
    if (name === METADATA) {
      skipMetadata(json);
      return;
    }
    if (UNPRINTABLE.test(name) || !name.isWellFormed()) json.fail(`${shown(name)} is no name that can be printed`);
    if (tensors.length >= MAX_TENSORS) json.fail(`more than ${MAX_TENSORS} tensors`);
    tensors.push(readTensor(json, name, dataOffset));
  });
  json.end();
  return tensors.sort((left, right) => left.offset - right.offset);
}

function skipMetadata(json: JsonText): void {
  json.each("{}", () => {
    json.key(MAX_HEADER_BYTES);
    json.string(MAX_HEADER_BYTES);
  });
}

function counts(json: JsonText, most: number): number[] {
  const found: number[] = [];
  json.each("[]", () => {
    if (found.length >= most) json.fail(`more than ${most} numbers`);
    found.push(json.count());
  });
  return found;
}

/** What the header says of one tensor; places are from the end of the header. */
interface Told {
  type?: string;
  shape?: readonly number[];
  places?: readonly number[];
}

function readTensor(json: JsonText, name: string, dataOffset: number): NamedTensor {
  const stated: Told = {};
  json.each("{}", () => {
    const key = json.key(MAX_WORD_CHARS);
    if (key === "dtype" && stated.type === undefined) stated.type = json.string(MAX_WORD_CHARS);
    else if (key === "shape" && stated.shape === undefined) stated.shape = counts(json, MAX_DIMENSIONS);
    else if (key === "data_offsets" && stated.places === undefined) stated.places = counts(json, 2);
    else json.fail(`tensor ${shown(name)} has ${shown(key)}, which is not known, or twice`);
  });
  const tensor = tensorOf(name, stated, dataOffset);
  if (tensor !== null) return tensor;
  json.fail(`type, shape and place of tensor ${shown(name)} are not all there, or do not fit each other`);
  return { name, type: "", shape: [], offset: 0, bytes: 0 };
}

function tensorOf(name: string, { type, shape, places }: Told, dataOffset: number): NamedTensor | null {
  const [begin, end] = places ?? [];
  if (type === undefined || shape === undefined || begin === undefined || end === undefined) return null;
  const bytes = end - begin;
  if (bytes < 0 || !TYPE_NAME.test(type)) return null;
  const bits = Object.hasOwn(TYPE_BITS, type) ? TYPE_BITS[type] : undefined;
  const whole = shape.reduce((product, length) => product * length, bits ?? 1);
  if (!Number.isSafeInteger(whole) || (bits !== undefined && whole !== bytes * 8)) return null;
  return { name, type: type.toLowerCase(), shape: shape.toReversed(), offset: dataOffset + begin, bytes };
}

/** No two tensors may share bytes, and all must lie in the file. */
function checkPlaces(json: JsonText, tensors: readonly NamedTensor[], fileBytes: number): void {
  let reached = 0;
  for (const { name, offset, bytes } of tensors) {
    if (bytes === 0) continue;
    if (offset < reached) json.fail(`tensor ${shown(name)} shares bytes with another`);
    reached = offset + (bytes ?? 0);
    if (reached > fileBytes) {
      json.fail(`tensor ${shown(name)} ends at byte ${reached} of a file of ${fileBytes}: truncated`);
    }
  }
}
