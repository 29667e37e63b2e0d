/** Where the fields of CPython's objects lie on machines of 64 bits (Include/cpython and Include/internal), by version. */

export interface PythonLayout {
  /** In the runtime its first interpreter, in that its first thread. */
  readonly interpreter: number;
  readonly thread: number;
  /** In a thread the next one, and the pointers that lead to its newest frame, one behind the other. */
  readonly nextThread: number;
  readonly newestFrame: readonly number[];
  /** In a frame the older one, and its local variables, the arguments first. */
  readonly olderFrame: number;
  readonly locals: number;
  /** In a class that Python code made the names of the attributes that its objects keep without a dict. */
  readonly sharedNames: number;
  /** In front of an object its dict, if it has one already. */
  readonly dictBefore: number;
  /**
   * Where the values of the attributes of an object without a dict are: a pointer to them lies so many bytes in front of it, or the place
   * of the dict is one, marked by its lowest bit, or they lie in the object itself, behind what its class says that it has.
   */
  readonly values: { readonly before: number } | "marked" | "inside";
  /** Bytes in front of the first of them. */
  readonly valuesHead: number;
  /** Where the characters of a text of ASCII begin. */
  readonly text: number;
  /** The length of a whole number is a part of this word, the upper bits. */
  readonly digitCountShift: number;
}

/** Measured by offsetof on the headers of each version; a later one says itself where its runtime, threads and frames have what is read of them. */
const LAYOUTS: ReadonlyMap<string, PythonLayout> = new Map([
  [
    "3.11",
    {
      ...{ interpreter: 40, thread: 16, nextThread: 8, newestFrame: [56, 8], olderFrame: 48, locals: 72 },
      ...{ sharedNames: 872, dictBefore: 24, values: { before: 32 }, valuesHead: 0, text: 48, digitCountShift: 0 },
    },
  ],
  [
    "3.12",
    {
      ...{ interpreter: 40, thread: 72, nextThread: 8, newestFrame: [56, 0], olderFrame: 8, locals: 72 },
      ...{ sharedNames: 880, dictBefore: 24, values: "marked", valuesHead: 0, text: 40, digitCountShift: 3 },
    },
  ],
  [
    "3.13",
    {
      ...{ interpreter: 632, thread: 7344, nextThread: 8, newestFrame: [72], olderFrame: 8, locals: 72 },
      ...{ sharedNames: 880, dictBefore: 24, values: "inside", valuesHead: 8, text: 40, digitCountShift: 3 },
    },
  ],
]);
/** Those that say themselves where their runtime, threads and frames have what is read of them. */
const TELLING: ReadonlySet<string> = new Set(["3.13"]);

/** `3.11` of the number that a build keeps in `Py_Version`: a byte each of major, minor, micro. */
export function pythonVersion(number: number): string {
  return `${(number >>> 24) & 0xff}.${(number >>> 16) & 0xff}`;
}

/** Null where that version's is not known. */
export function pythonLayout(version: string): PythonLayout | null {
  return LAYOUTS.get(version) ?? null;
}

/** How many words at the begin of the runtime of a build say where things are (`_Py_DebugOffsets`, Include/internal/pycore_runtime.h). */
export const OFFSET_WORDS = 34;
/** `xdebugpy`, as a word. */
const OFFSETS_COOKIE = 0x7970677562656478n;
/** Places among these words. */
const [COOKIE, FREE_THREADED, INTERPRETERS, THREADS, NEXT_THREAD, FRAME, OLDER_FRAME, LOCALS] = [
  0, 2, 5, 9, 21, 23, 29, 32,
];
/** No offset is larger. */
const MOST_OFFSET = 1n << 24n;

/** True where a build of that version says where its runtime, threads and frames have what is read of them. */
export const tellsPlaces = (version: string): boolean => TELLING.has(version);

/**
 * The layout of a version with the places that the build itself tells, which may be others in each of its releases.
 * @param words the first ones of its runtime
 * @returns null where they are no such places, and for a build without the global lock, whose objects lie otherwise
 */
export function withToldPlaces(layout: PythonLayout, words: BigUint64Array): PythonLayout | null {
  const places = [INTERPRETERS, THREADS, NEXT_THREAD, FRAME, OLDER_FRAME, LOCALS].map(
    (place) => words[place] ?? MOST_OFFSET,
  );
  const isTold = words[COOKIE] === OFFSETS_COOKIE && words[FREE_THREADED] === 0n;
  if (!isTold || places.some((place) => place >= MOST_OFFSET)) return null;
  const [interpreter = 0, thread = 0, nextThread = 0, frame = 0, olderFrame = 0, locals = 0] = places.map(Number);
  return { ...layout, interpreter, thread, nextThread, newestFrame: [frame], olderFrame, locals };
}

/** Fields that are alike in all of these versions. */
export const FIELDS = {
  type: 8,
  /** In a type the pointer to its name, the bytes that an object of it has, and its flags. */
  typeName: 24,
  typeObjectBytes: 32,
  typeFlags: 168,
  /** In a dict. */
  dictKeys: 32,
  dictValues: 40,
  /** In the keys of a dict: what each entry has, how many there are, and the table of places in front of them. */
  keysIndexBytes: 9,
  keysKind: 10,
  keysCount: 24,
  keysIndexes: 32,
  /** In values that lie in the object itself whether they are those of its attributes: else its dict has these. */
  valuesValid: 3,
  /** In lists and tuples. */
  length: 16,
  items: 24,
  /** In a text: its length, and how its characters are kept. */
  textLength: 16,
  textState: 32,
  /** In a whole number. */
  digitCount: 16,
  digits: 24,
  /** In a function the variables of the one around it, in each of those its value. */
  closure: 72,
  cell: 16,
} as const;

/** Flags of a type: its objects keep a dict in front of themselves; they are such an object by inheritance. */
export const TYPE_FLAGS = {
  /** The values of their attributes lie in them. */
  inlineValues: 1n << 2n,
  managedDict: 1n << 4n,
  list: 1n << 25n,
  tuple: 1n << 26n,
  text: 1n << 28n,
  dict: 1n << 29n,
} as const;
