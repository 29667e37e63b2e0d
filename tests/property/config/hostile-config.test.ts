import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { readConfigFile } from "../../../src/config/config-file.ts";
import { configSchema } from "../../../src/config/experiment-schema.ts";
import { problemLine, problemsExitCode } from "../../../src/config/problem.ts";
import { keysOf } from "../../../src/config/schema-keys.ts";
import { checkConfig } from "../../../src/experiment/check-experiment.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-trace-hostile-"));
afterAll(() => rmSync(folder, { recursive: true }));

const names = [...new Set(keysOf(configSchema).flatMap(({ path }) => path))].filter((name) => name !== "[]");
const key = fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...names) }, { weight: 1, arbitrary: fc.string() });
const leaf = fc.oneof(
  fc.constantFrom("llamacpp", "demo", "vllm", "random", "../..", "1m", "5s", "64MB", 1, 64, 0, -1, 1e9, null, true),
  fc.string(),
  fc.double(),
);
const value = fc.letrec((tie) => ({
  node: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.array(tie("node"), { maxLength: 3 }),
    fc.dictionary(key, tie("node"), { maxKeys: 4 }),
  ),
})).node;

test("any file is valid, or has problems in it with a place, a text of one line and an exit code", () => {
  const path = join(folder, "config.yaml");
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...Object.keys(configSchema.shape)), value, { minKeys: 1 }), (config) => {
      writeFileSync(path, JSON.stringify(config, null, 1));
      const file = readConfigFile(path);
      const { problems, warnings } = checkConfig(file, 1000);
      const lines = JSON.stringify(config, null, 1).split("\n").length;
      for (const problem of [...problems, ...warnings]) {
        expect(problem.line).toBeWithin(1, lines + 1);
        expect(problemLine(path, problem)).not.toContain("\n");
      }
      expect([0, 2, 3]).toContain(problemsExitCode(problems));
      if (file.config === null) expect(problems.length).toBeGreaterThan(0);
    }),
    { numRuns: 300 },
  );
});
