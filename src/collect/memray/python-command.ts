/** What a command that runs Python is made of, so that memray can be put between the interpreter and the program. */
import { closeSync, openSync, readSync } from "node:fs";
import { basename } from "node:path";

export interface PythonCommand {
  /** The interpreter, as the command names it. */
  readonly interpreter: string;
  /** Options of the interpreter, before the program. */
  readonly options: readonly string[];
  /** `-m MODULE`, `-c CODE` or the path of a script, and its arguments. */
  readonly program: readonly string[];
}

const NAME = /^python(\d+(\.\d+)?)?$/;
/** Options whose value may be the next word. */
const WITH_VALUE = new Set(["-W", "-X", "--check-hash-based-pycs"]);
const MAX_SHEBANG = 256;

/**
 * Takes a command apart: an interpreter with a script, a module or code, or a script that names Python in its first
 * line. Null where it does not run a Python program that way, such as an interpreter that reads stdin.
 *
 * @param findProgram path of the program that a word names; may throw where there is none
 */
export function pythonCommand(command: readonly string[], findProgram: (name: string) => string): PythonCommand | null {
  const first = command[0];
  if (first === undefined) return null;
  if (NAME.test(basename(first))) return interpreterCommand(first, command.slice(1));
  let path: string;
  try {
    path = findProgram(first);
  } catch {
    return null;
  }
  const shebang = shebangOf(path);
  if (shebang === null) return null;
  const [interpreter, ...options] = shebang;
  return { interpreter, options, program: [path, ...command.slice(1)] };
}

function interpreterCommand(interpreter: string, words: readonly string[]): PythonCommand | null {
  let index = 0;
  while (index < words.length) {
    const word = words[index] ?? "";
    if (word === "-" || word === "--") return null;
    if (!word.startsWith("-")) break;
    if (word.startsWith("--")) {
      index += WITH_VALUE.has(word) ? 2 : 1;
      continue;
    }
    const ends = word.search(/[cm]/);
    const takes = word.search(/[WX]/);
    // A value of -W or -X may be part of the word, and then its letters are no options.
    if (ends > 0 && (takes < 0 || ends < takes)) return endingWord(interpreter, words, index, ends);
    index += WITH_VALUE.has(`-${word.at(-1)}`) && takes === word.length - 1 ? 2 : 1;
  }
  if (index >= words.length) return null;
  return { interpreter, options: words.slice(0, index), program: words.slice(index) };
}

/** `-c` or `-m`, alone or at the end of other letters, with its value in the word or behind it. */
function endingWord(
  interpreter: string,
  words: readonly string[],
  position: number,
  ends: number,
): PythonCommand | null {
  const word = words[position] ?? "";
  const before = word.slice(0, ends);
  const inWord = word.slice(ends + 1);
  const rest = words.slice(position + 1);
  const value = inWord === "" ? rest.shift() : inWord;
  if (value === undefined) return null;
  return {
    interpreter,
    options: [...words.slice(0, position), ...(before === "-" ? [] : [before])],
    program: [`-${word[ends]}`, value, ...rest],
  };
}

function shebangOf(path: string): [string, ...string[]] | null {
  const head = Buffer.alloc(MAX_SHEBANG);
  let got = 0;
  try {
    const fd = openSync(path, "r");
    try {
      got = readSync(fd, head, 0, MAX_SHEBANG, 0);
    } finally {
      closeSync(fd);
    }
  } catch {
    return null;
  }
  const line = /^#!\s*([^\n]*)\n/
    .exec(head.toString("utf8", 0, got))?.[1]
    ?.trim()
    .split(/\s+/);
  if (line === undefined) return null;
  const words = basename(line[0] ?? "") === "env" ? line.slice(1).filter((word) => word !== "-S") : line;
  const [interpreter, ...options] = words;
  return interpreter !== undefined && NAME.test(basename(interpreter)) ? [interpreter, ...options] : null;
}
