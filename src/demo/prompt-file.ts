/** Prompts from a local file: a prompt per line, or JSON lines. */
import { statSync } from "node:fs";
import { readRegularFile } from "../run-directory/regular-file.ts";

const MOST_BYTES = 256 * 2 ** 20;

/** True where the source means a file, whether or not it is there. */
export function isPromptFile(source: string): boolean {
  const isUrl = /^[a-z][a-z0-9+.-]*:/i.test(source);
  if (isUrl) return false;
  return /^[./~]|\.(txt|md|jsonl|json|csv)$/i.test(source) || isThere(source);
}

/** True too where a folder on the way may not be entered, so that nobody knows. */
function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

/**
 * The prompts of a file, in order.
 * A name that ends in `.jsonl` or `.json`: an object per line with `prompt` or `text`, and perhaps `category`; else a prompt per line.
 * @param categories takes only these; all where it is empty
 * @throws Error with what is wrong, where a line is no such object or nothing is left
 */
export function readPrompts(path: string, categories: readonly string[]): string[] {
  const status = statSync(path, { throwIfNoEntry: false });
  if (status === undefined) throw new Error(`there is no such file in ${process.cwd()}`);
  if (!status.isFile()) throw new Error("no regular file");
  if (status.size > MOST_BYTES) throw new Error(`larger than ${MOST_BYTES} bytes: ${status.size}`);
  const isJson = /\.jsonl?$/i.test(path);
  if (!isJson && categories.length > 0) throw new Error("only JSON lines have categories");
  const text = new TextDecoder("utf-8", { fatal: true }).decode(readRegularFile(path, MOST_BYTES));
  const lines = text.split(/\r?\n/);
  const prompts = lines.flatMap((line, index) => {
    if (line.trim() === "") return [];
    return isJson ? jsonPrompt(line, index + 1, categories) : [line];
  });
  if (prompts.length === 0)
    throw new Error(categories.length > 0 ? "no prompt of these categories" : "no prompts in it");
  return prompts;
}

function jsonPrompt(line: string, number: number, categories: readonly string[]): string[] {
  let value: { prompt?: unknown; text?: unknown; category?: unknown } | null;
  try {
    value = JSON.parse(line);
  } catch {
    throw new Error(`line ${number} is no JSON`);
  }
  const prompt = value?.prompt ?? value?.text;
  if (typeof prompt !== "string" || prompt === "") throw new Error(`line ${number} has no text in prompt or text`);
  return categories.length === 0 || categories.includes(String(value?.category)) ? [prompt] : [];
}

/** What is wrong with a file of prompts; null where nothing is. */
export function promptFileProblem(path: string, categories: readonly string[]): string | null {
  try {
    readPrompts(path, categories);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
