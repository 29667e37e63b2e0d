/**
 * Functions of C that a program of Go calls, where all symbols are stripped: Go keeps the names of its own, and those by which it
 * calls C are named after what they call. Their code leads there in two steps: a function of Go loads the address of one of C
 * (`_cgo_..._Cfunc_NAME`), whose only call of another function of C is the one that is meant.
 */
import type { ByteView } from "./byte-view.ts";
import type { DynamicSymbol } from "./dynamic-symbols.ts";
import type { FunctionStarts } from "./function-starts.ts";
import { type GoFunction, goFunctions } from "./go-functions.ts";
import { relocatedWords } from "./relocated-words.ts";
import type { Section } from "./sections.ts";
import { fileOffsetOf, type Segment } from "./segments.ts";

export interface GoProgram {
  readonly view: ByteView;
  readonly machine: number;
  readonly segments: readonly Segment[];
  readonly sections: readonly Section[];
  /** Of functions of C; asked for where one is looked for. */
  readonly starts: () => FunctionStarts | null;
}

const X86_64 = 62;
const MOST_CODE_BYTES = 4096;
/** mov rax, [rip + i32], and its length. */
const LOAD = [0x48, 0x8b, 0x05] as const;
const LOAD_BYTES = 7;
/** call and jmp with a distance of four bytes, and their length. */
const CALLS: ReadonlySet<number> = new Set([0xe8, 0xe9]);
const CALL_BYTES = 5;
const CALLER = "._Cfunc_";

/** The code of a function; null where it is none of the file, or too long. */
function codeOf({ view, segments }: GoProgram, vaddr: number, end: number): DataView | null {
  const place = fileOffsetOf(segments, vaddr);
  const length = Math.min(end - vaddr, MOST_CODE_BYTES);
  const bytes = place === null || length <= 0 ? null : view.bytes(place, length);
  return bytes === null ? null : new DataView(bytes.slice().buffer);
}

/** Addresses from which the code loads a word. */
function loadsOf(program: GoProgram, { vaddr, end }: GoFunction): number[] {
  const code = codeOf(program, vaddr, end);
  const found: number[] = [];
  for (let i = 0; code !== null && i + LOAD_BYTES <= code.byteLength; i++) {
    if (LOAD.some((byte, k) => code.getUint8(i + k) !== byte)) continue;
    found.push(vaddr + i + LOAD_BYTES + code.getInt32(i + LOAD.length, true));
  }
  return found;
}

/** The only function of C in the program's own text that the one which begins here calls; null where there is none, or several. */
function calledBy(program: GoProgram, vaddr: number): number | null {
  const { sections } = program;
  const starts = program.starts();
  const range = starts?.at(vaddr);
  if (range == null || range.start !== vaddr || range.end === null) return null;
  const code = codeOf(program, vaddr, range.end);
  const text = sections.find(({ name }) => name === ".text");
  const found = new Set<number>();
  for (let i = 0; code !== null && i + CALL_BYTES <= code.byteLength; i++) {
    if (!CALLS.has(code.getUint8(i))) continue;
    const target = vaddr + i + CALL_BYTES + code.getInt32(i + 1, true);
    const isInText = text !== undefined && target >= text.vaddr && target < text.vaddr + text.sizeBytes;
    // Functions of Go have no entry there, as its runtime unwinds them by a table of its own.
    if (isInText && target !== vaddr && starts?.at(target)?.start === target) found.add(target);
  }
  const [only, ...others] = found;
  return only === undefined || others.length > 0 ? null : only;
}

/**
 * Functions of these names in a program of Go, those of Go by their whole name and those of C as Go calls them; none where there is
 * another way from one to the other than is known, on processors other than x86-64, and in no program of Go.
 */
export function functionsByGo(program: GoProgram, names: readonly string[]): ReadonlyMap<string, DynamicSymbol> {
  const { view, machine, segments, sections } = program;
  const found = new Map<string, DynamicSymbol>();
  if (machine !== X86_64) return found;
  const add = (name: string, vaddr: number): void => {
    const place = fileOffsetOf(segments, vaddr);
    if (!found.has(name))
      found.set(name, { name, type: "function", vaddr, fileOffset: place, sizeBytes: 0, isByGo: true });
  };
  const wanted = new Set(names);
  const isOfGo = (name: string): boolean => name.includes("/");
  const ends = names.map((name) => (isOfGo(name) ? name : CALLER + name));
  const callers: { readonly name: string; readonly loads: readonly number[] }[] = [];
  for (const one of goFunctions(view, segments, sections, ends)) {
    const called = one.name.slice(one.name.lastIndexOf(CALLER) + CALLER.length);
    if (wanted.has(one.name)) add(one.name, one.vaddr);
    else if (one.name.includes(CALLER) && wanted.has(called))
      callers.push({ name: called, loads: loadsOf(program, one) });
  }
  const words = relocatedWords(
    view,
    segments,
    sections,
    callers.flatMap(({ loads }) => loads),
  );
  for (const { name, loads } of callers) {
    const targets = loads.map((place) => calledBy(program, words.get(place) ?? 0)).filter((target) => target !== null);
    const [only, ...others] = new Set(targets);
    if (only !== undefined && others.length === 0) add(name, only);
  }
  return found;
}
