/** prompt_outputs.json of a run of the demo: what its process handed over, believed in nothing until it is checked. */
import { fstatSync, readSync } from "node:fs";
import { TEXTS_FD } from "../demo/texts.ts";
import { reasonText } from "../errors.ts";
import { writeFileAtomic } from "../run-directory/atomic-file.ts";
import { shown } from "../run-directory/held-folder.ts";
import type { RunDirectory } from "../run-directory/run-directory.ts";
import { type PromptOutputs, promptOutputsSchema } from "../schema/prompt-outputs.ts";
import { toJson } from "../schema/run-json.ts";
import { EXTRA_FD } from "../target/held-command.ts";
import { memoryFile } from "../target/memory-file.ts";

/** What it takes to parse them is several times as much. */
const MOST_BYTES = 2 ** 25;

export interface TextsFile extends Disposable {
  readonly fd: number;
  /** To be added to the environment of the demo, which inherits the file. */
  readonly env: Readonly<Record<string, string>>;
}

/** An empty file that the demo can write, and nobody can find by a name. */
export function openTextsFile(): TextsFile {
  const { fd, [Symbol.dispose]: close } = memoryFile("mrm-trace-texts");
  return { fd, env: { [TEXTS_FD]: String(EXTRA_FD) }, [Symbol.dispose]: close };
}

function readWhole(fd: number): string {
  const { size } = fstatSync(fd);
  if (size > MOST_BYTES) throw new Error(`${size} bytes are more than any demo has`);
  const bytes = Buffer.alloc(size);
  for (let offset = 0; offset < size; ) {
    const read = readSync(fd, bytes, offset, size - offset, offset);
    if (read === 0) throw new Error("the file became shorter");
    offset += read;
  }
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}

/** Null for what is not of the form: what is wrong with it would be told in its own words. */
function parsed(text: string): PromptOutputs | null {
  try {
    return promptOutputsSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

/**
 * Writes prompt_outputs.json, mode 0600, from what the demo left in the file. No run is worth less without it.
 * @returns why there is none, for people; null where there is
 */
export function savePromptOutputs({ prompt_outputs }: RunDirectory, fd: number): string | null {
  const missing = (why: string): string => `prompt_outputs.json was not written: ${why}`;
  try {
    const text = readWhole(fd);
    if (text === "") return missing("the demo ended before it handed over its texts");
    const outputs = parsed(text);
    if (outputs === null) return missing("what the demo handed over is not of its form");
    writeFileAtomic(prompt_outputs, `${toJson(outputs, 2)}\n`);
    return null;
  } catch (error) {
    return missing(shown(reasonText(error)));
  }
}
