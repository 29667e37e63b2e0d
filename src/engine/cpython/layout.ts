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
  /** In front of an object the values of its attributes; null where the place of the dict leads to them, marked by its lowest bit. */
  readonly valuesBefore: number | null;
  /** Where the characters of a text of ASCII begin. */
  readonly text: number;
  /** The length of a whole number is a part of this word, the upper bits. */
  readonly digitCountShift: number;
}

/** Measured by offsetof on the headers of each version. */
const LAYOUTS: ReadonlyMap<string, PythonLayout> = new Map([
  [
    "3.11",
    {
      ...{ interpreter: 40, thread: 16, nextThread: 8, newestFrame: [56, 8], olderFrame: 48, locals: 72 },
      ...{ sharedNames: 872, dictBefore: 24, valuesBefore: 32, text: 48, digitCountShift: 0 },
    },
  ],
  [
    "3.12",
    {
      ...{ interpreter: 40, thread: 72, nextThread: 8, newestFrame: [56, 0], olderFrame: 8, locals: 72 },
      ...{ sharedNames: 880, dictBefore: 24, valuesBefore: null, text: 40, digitCountShift: 3 },
    },
  ],
]);

/** `3.11` of the number that a build keeps in `Py_Version`: a byte each of major, minor, micro. */
export function pythonVersion(number: number): string {
  return `${(number >>> 24) & 0xff}.${(number >>> 16) & 0xff}`;
}

/** Null where that version's is not known. */
export function pythonLayout(version: string): PythonLayout | null {
  return LAYOUTS.get(version) ?? null;
}

/** Fields that are alike in all of these versions. */
export const FIELDS = {
  type: 8,
  /** In a type the pointer to its name, and its flags. */
  typeName: 24,
  typeFlags: 168,
  /** In a dict. */
  dictKeys: 32,
  dictValues: 40,
  /** In the keys of a dict: what each entry has, how many there are, and the table of places in front of them. */
  keysIndexBytes: 9,
  keysKind: 10,
  keysCount: 24,
  keysIndexes: 32,
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
  managedDict: 1n << 4n,
  list: 1n << 25n,
  tuple: 1n << 26n,
  text: 1n << 28n,
  dict: 1n << 29n,
} as const;
