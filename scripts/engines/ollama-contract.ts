#!/usr/bin/env bun
/**
 * The contract test of the engines (tests/integration/engine/contract.test.ts) on both runners of Ollama, with its symbols and
 * stripped. Run by scripts/test-engines; needs go, git, g++ and root. Ends with 1 where it does not hold.
 */
import { build, program, say, strip, stripped } from "../ollama-environment.ts";

await build();
await strip();
const TEST = "tests/integration/engine/contract.test.ts";
let holds = true;
for (const started of [program, stripped]) {
  say(started === stripped ? "stripped" : "with its symbols");
  const child = Bun.spawn([process.execPath, "test", "--timeout", "400000", TEST, "-t", "^Ollama"], {
    env: { ...process.env, MRM_TRACE_OLLAMA: started },
    stdio: ["ignore", "inherit", "inherit"],
  });
  holds = (await child.exited) === 0 && holds;
}
process.exit(holds ? 0 : 1);
