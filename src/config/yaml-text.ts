/** A YAML file as plain values and the place of each: bounded, whatever the file holds. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, visit } from "yaml";
import { MrmTraceError, reasonText } from "../errors.ts";

/** Larger than any experiment; the parser's time is bounded with it. */
export const MOST_BYTES = 2 ** 20;
/** Each use of an alias counts with all the aliases below it: ten levels of ten are 10^10 values. */
const MOST_ALIASES = 100;
const MOST_PROBLEMS = 100;

export interface Position {
  /** From 1. */
  readonly line: number;
  readonly column: number;
}

export interface SyntaxProblem extends Position {
  readonly message: string;
  readonly received: string | null;
}

export interface YamlFile {
  /** Nothing where the text has no meaning. */
  readonly value: unknown;
  readonly problems: readonly SyntaxProblem[];
  /** Where the value at a path stands, or its key; the nearest place above it where it is not in the text. */
  locate(path: readonly PropertyKey[], what: "key" | "value"): Position;
}

/** What a file should hold, and what to do where it cannot be read. */
export interface Wanted {
  readonly noun: string;
  readonly hint: string;
}

const CONFIGURATION: Wanted = {
  noun: "a configuration",
  hint: "name a YAML or JSON file; `mrm-trace config default` prints one",
};

/**
 * Text of a file.
 * @throws MrmTraceError usage where it is no regular file, too large, not UTF-8 or empty
 */
export function readYamlText(path: string, { noun, hint }: Wanted = CONFIGURATION): string {
  let bytes: Uint8Array;
  try {
    if (path === "-") throw new Error("standard input is not read: save it as a file first");
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const status = fstatSync(fd);
      if (status.isDirectory()) throw new Error("it is a folder");
      if (!status.isFile()) throw new Error("not a regular file but a pipe or a device: save it as a file first");
      if (status.size > MOST_BYTES) throw new Error(`larger than ${MOST_BYTES} bytes: ${status.size}`);
      bytes = readFileSync(fd);
    } finally {
      closeSync(fd);
    }
  } catch (cause) {
    const why = reasonText(cause);
    throw new MrmTraceError("usage", `${path} cannot be read as ${noun}: ${why}`, hint, { cause });
  }
  const text = decoded(bytes);
  if (text === null) {
    const encode = `save it as UTF-8, such as: iconv -f LATIN1 -t UTF-8 ${path}`;
    throw new MrmTraceError("usage", `${path} is not UTF-8`, encode);
  }
  return text;
}

function decoded(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** What the parser says in words that only its authors know. */
const NO_COLON = "a key needs a colon behind it, on the same line";
const IN_PLAIN_WORDS: Readonly<Record<string, string>> = {
  "Nested mappings are not allowed in compact mappings": 'text with a colon in it needs quotes, such as "a: b"',
  "Source contains multiple documents; please use YAML.parseAllDocuments()":
    "one document expected, but --- begins another",
  "Implicit keys need to be on a single line": NO_COLON,
  "Implicit map keys need to be followed by map values": NO_COLON,
};

/** Parses text; never throws for what it holds. */
export function parseYaml(text: string): YamlFile {
  const lines = new LineCounter();
  const problems: SyntaxProblem[] = [];
  const start: Position = { line: 1, column: 1 };
  const positionAt = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return line > 0 ? { line, column: col } : start;
  };
  const nothing = { value: undefined, problems, locate: () => start };
  try {
    // Keys are compared below: the parser's own check takes quadratic time.
    const document = parseDocument(text, {
      lineCounter: lines,
      uniqueKeys: false,
      merge: true,
      prettyErrors: false,
      logLevel: "error",
    });
    for (const { pos, message } of document.errors) {
      if (message.startsWith("Maximum call stack")) throw new RangeError(message);
      const line = message.split("\n")[0] ?? message;
      const problem = { ...positionAt(pos[0]), message: IN_PLAIN_WORDS[line] ?? line, received: null };
      const isNew = problems.at(-1)?.line !== problem.line || problems.at(-1)?.message !== problem.message;
      if (isNew && problems.length < MOST_PROBLEMS) problems.push(problem);
    }
    if (problems.length > 0) return nothing;
    for (const { name, offset } of repeatedKeys(document)) {
      if (problems.length < MOST_PROBLEMS)
        problems.push({ ...positionAt(offset), message: "key given twice", received: JSON.stringify(name) });
    }
    const value: unknown = document.toJS({ maxAliasCount: MOST_ALIASES });
    return { value, problems, locate: (path, what) => positionAt(offsetOf(document, path, what)) };
  } catch (cause) {
    problems.length = 0;
    problems.push({ ...start, message: limitMessage(cause), received: null });
    return nothing;
  }
}

function limitMessage(cause: unknown): string {
  if (cause instanceof RangeError) return "nested too deeply";
  const message = cause instanceof Error ? cause.message : String(cause);
  return /alias/i.test(message) ? `more than ${MOST_ALIASES} aliases, one within another` : message;
}

function repeatedKeys(document: Document): { name: string; offset: number }[] {
  const found: { name: string; offset: number }[] = [];
  visit(document, {
    Map(_, map) {
      const seen = new Set<string>();
      for (const { key } of map.items) {
        const name = keyText(key);
        if (name === null || name === "<<") continue;
        if (seen.has(name)) found.push({ name, offset: startOf(key) ?? 0 });
        seen.add(name);
      }
    },
  });
  return found;
}

function keyText(key: unknown): string | null {
  return isScalar(key) ? String(key.value) : typeof key === "string" ? key : null;
}

function startOf(node: unknown): number | null {
  return (node as Node | null)?.range?.[0] ?? null;
}

function offsetOf(document: Document, path: readonly PropertyKey[], what: "key" | "value"): number {
  let node: unknown = document.contents;
  let found = startOf(node) ?? 0;
  for (const [depth, part] of path.entries()) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => keyText(key) === String(part));
      if (pair === undefined) return found;
      const isLast = depth === path.length - 1;
      const place = isLast && what === "key" ? startOf(pair.key) : (startOf(pair.value) ?? startOf(pair.key));
      found = place ?? found;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(part)];
      if (node === undefined) return found;
      found = startOf(node) ?? found;
    } else return found;
  }
  return found;
}
