/** What an import keeps of a file that drives one count of its format as far as it can: its memory has a bound. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HOSTILE_FILES, writeHostileFile } from "../../fixtures/hostile-files.ts";
import { mostMemoryOf } from "../../fixtures/most-memory.ts";
import { CLI } from "./cli.ts";

setDefaultTimeout(120_000);
const MOST_BYTES = 300e6;
const folder = mkdtempSync(join(tmpdir(), "mrm-hostile-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

for (const name of Object.keys(HOSTILE_FILES)) {
  test(`an import takes 300 MB at most of ${name}`, () => {
    const path = join(folder, "hostile");
    writeHostileFile(path, name);
    const out = join(folder, "out");
    const { exitCode, bytes } = mostMemoryOf([process.execPath, CLI, "import", path, "--output", out, "--quiet"]);
    rmSync(out, { recursive: true, force: true });
    // What cannot be is refused; what can be is imported.
    expect([0, 4]).toContain(exitCode);
    expect(bytes).toBeGreaterThan(30e6);
    expect(bytes).toBeLessThan(MOST_BYTES);
  });
}
