import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { drawnText, ollamaCommand, storedModel } from "../../../src/experiment/ollama-run.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-ollama-run-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("a cell is told to the server by its environment", () => {
  const command = ollamaCommand({ context_length: 512, batch_size: 4 }, { flash_attention: true });
  expect([command[0], ...command.slice(-2)]).toEqual(["env", "ollama", "serve"]);
  for (const word of [
    "OLLAMA_HOST=127.0.0.1:{port}",
    "OLLAMA_CONTEXT_LENGTH=512",
    "OLLAMA_NUM_PARALLEL=4",
    "OLLAMA_FLASH_ATTENTION=1",
  ]) {
    expect(command).toContain(word);
  }
});

test("a model is a link to its file under its digest, and another one where the file moved or is another", () => {
  const [file, moved, store] = [join(folder, "a.gguf"), join(folder, "b.gguf"), join(folder, "store")];
  // That of "abc" is in the standard of SHA-256.
  writeFileSync(file, "abc");
  const digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  const link = join(store, "blobs", `sha256-${digest}`);
  const name = "mrm-trace-ba7816bf8f01cfea";
  expect(storedModel(file, store, null)).toEqual({ name, digest: `sha256:${digest}`, threads: null });
  expect(readFileSync(link, "utf8")).toBe("abc");
  expect(storedModel(file, store, 2).name).toBe(`${name}-t2`);
  writeFileSync(moved, "abc");
  storedModel(moved, store, null);
  expect(readlinkSync(link)).toBe(moved);
  writeFileSync(moved, "abcd");
  expect(storedModel(moved, store, null).digest).not.toContain(digest);
  expect(readdirSync(join(store, "blobs")).length).toBe(2);
  expect(existsSync(file)).toBe(true);
  expect(() => storedModel(join(folder, "missing"), store, null)).toThrow("ENOENT");
  expect(() => storedModel("/dev/zero", store, null)).toThrow("/dev/zero is no regular file");
});

test("a drawn text has two letters less than it may have tokens, and is the same for the same seed", () => {
  for (const tokens of [1, 3, 40, 1000]) {
    const text = drawnText(tokens, 7, 1);
    expect(text).toHaveLength(Math.max(1, tokens - 2));
    expect(text).toMatch(/^[a-z]([a-z ]*[a-z])?$/);
    expect(drawnText(tokens, 7, 1)).toBe(text);
  }
  expect(new Set([1, 2, 3].map((index) => drawnText(100, 7, index))).size).toBe(3);
});
