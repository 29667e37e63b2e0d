/** How the server of Ollama is started for a run of an experiment, and how it gets the model. */
import { closeSync, constants, fstatSync, mkdirSync, openSync, readSync, renameSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import type { GivenModel } from "../client/given-model.ts";
import { PORT_MARK } from "../client/server-port.ts";
import type { DemoOptions } from "../config/schema.ts";
import { demoCacheDir } from "../demo/cache.ts";
import { seededRandom } from "../statistics/prng.ts";
import type { Cell } from "./sweep.ts";

export const OLLAMA_PROGRAM = "ollama";
const CHUNK_BYTES = 2 ** 22;
/** Digits of the digest that name a model. */
const NAME_DIGITS = 16;
const LETTERS = "abcdefghijklmnopqrstuvwxyz ";
/** Tokens that a vocabulary may put before a text: that of its beginning, and a space. */
const BEFORE_TEXT = 2;

/** Models that experiments made: links to the files of the user, which take no room. */
export const ollamaStore = (): string => join(demoCacheDir(), "ollama");

/** The command of a cell, told by its environment. */
export function ollamaCommand(
  { context_length, batch_size }: Pick<Cell, "context_length" | "batch_size">,
  { flash_attention }: Pick<DemoOptions, "flash_attention">,
): string[] {
  const settings = {
    OLLAMA_HOST: `127.0.0.1:${PORT_MARK}`,
    OLLAMA_MODELS: ollamaStore(),
    OLLAMA_CONTEXT_LENGTH: context_length,
    OLLAMA_NUM_PARALLEL: batch_size,
    OLLAMA_FLASH_ATTENTION: flash_attention ? 1 : 0,
    // The server ends with the run, and what another run has just put into the store stays.
    OLLAMA_KEEP_ALIVE: -1,
    OLLAMA_NOPRUNE: 1,
  };
  return ["env", ...Object.entries(settings).map(([name, value]) => `${name}=${value}`), OLLAMA_PROGRAM, "serve"];
}

/** SHA-256 of a file, in hex. @throws Error where it is no regular file, which may have no end; as readSync does */
function digestOf(path: string): string {
  const hasher = new Bun.CryptoHasher("sha256");
  const chunk = new Uint8Array(CHUNK_BYTES);
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(fd).isFile()) throw new Error(`${path} is no regular file`);
    for (let length = readSync(fd, chunk); length > 0; length = readSync(fd, chunk)) {
      hasher.update(chunk.subarray(0, length));
    }
  } finally {
    closeSync(fd);
  }
  return hasher.digest("hex");
}

/**
 * Puts a link to a GGUF into a store of Ollama, where it is named by its digest, and tells which model is to be made of it.
 * The whole file is read once.
 * @throws as the calls of node:fs do, where the file cannot be read or the store not be written
 */
export function storedModel(path: string, store: string, threads: number | null): GivenModel {
  const digest = digestOf(path);
  const blobs = join(store, "blobs");
  mkdirSync(blobs, { recursive: true, mode: 0o700 });
  const fresh = join(blobs, `.link-${process.pid}`);
  symlinkSync(resolve(path), fresh);
  renameSync(fresh, join(blobs, `sha256-${digest}`));
  const name = `mrm-trace-${digest.slice(0, NAME_DIGITS)}${threads === null ? "" : `-t${threads}`}`;
  return { name, digest: `sha256:${digest}`, threads };
}

/** A text of drawn letters that has `tokens` tokens at most, whatever the vocabulary: each letter is one or a part of one. */
export function drawnText(tokens: number, seed: number, index: number): string {
  const random = seededRandom(seed, index);
  const length = Math.max(1, tokens - BEFORE_TEXT);
  const letters = Array.from({ length }, () => LETTERS[Math.floor(LETTERS.length * random())]);
  // A space at either end may be taken for none.
  return letters.join("").replace(/^ | $/g, "a");
}
