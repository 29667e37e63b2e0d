/** Everything that must hold before a commit, in order of cost: format, lint, types, generated files, tests. */
import { $ } from "bun";

const steps: readonly [what: string, command: readonly string[]][] = [
  ["format and lint", ["biome", "ci", "--error-on-warnings", "."]],
  ["types", ["tsc", "--noEmit"]],
  ["types of what runs in a browser", ["tsc", "--noEmit", "--project", "src/report/browser"]],
  ["generated files", [process.execPath, "scripts/generate.ts", "--check"]],
  ["tests", [process.execPath, "scripts/test.ts"]],
];
for (const [what, command] of steps) {
  process.stderr.write(`check: ${what}\n`);
  const { exitCode } = await $`${command}`
    .nothrow()
    .env({ ...process.env, PATH: `node_modules/.bin:${process.env.PATH}` });
  if (exitCode !== 0) {
    process.stderr.write(`check: ${what} failed\n`);
    process.exit(1);
  }
}
