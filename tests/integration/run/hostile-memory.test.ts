/** What an import keeps of a file that drives one count of its format as far as it can: its memory has a bound. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HOSTILE_FILES, writeHostileFile } from "../../fixtures/hostile-files.ts";
import { CLI } from "./cli.ts";

setDefaultTimeout(120_000);
const MOST_BYTES = 300e6;
/**
 * Runs a command and prints the most memory that it had resident. What a process had before it became another program counts
 * as its own to the kernel, and a test runner has a lot: so a small program starts it.
 */
const MOST_OF = `
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
sys.exit(code)
`;
const folder = mkdtempSync(join(tmpdir(), "mrm-hostile-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

for (const name of Object.keys(HOSTILE_FILES)) {
  test(`an import takes 300 MB at most of ${name}`, () => {
    const path = join(folder, "hostile");
    writeHostileFile(path, name);
    const out = join(folder, "out");
    const run = Bun.spawnSync([
      "python3",
      "-c",
      MOST_OF,
      process.execPath,
      CLI,
      "import",
      path,
      "--output",
      out,
      "--quiet",
    ]);
    rmSync(out, { recursive: true, force: true });
    // What cannot be is refused; what can be is imported.
    expect([0, 4]).toContain(run.exitCode);
    const most = Number(run.stdout.toString().trim().split("\n").at(-1));
    expect(most).toBeGreaterThan(30e6);
    expect(most).toBeLessThan(MOST_BYTES);
  });
}
