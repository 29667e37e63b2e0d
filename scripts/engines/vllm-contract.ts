#!/usr/bin/env bun
/**
 * The contract test of the engines (tests/integration/engine/contract.test.ts) on real vLLM, of which the tests have a stand-in. Run by
 * scripts/test-engines; 6.2 GB installed from PyPI, needs python3-venv, libnuma1 and root. Ends with 1 where it does not hold.
 */
import { ENGINE_ENVIRONMENT, folder, install, MODES, python, say } from "../vllm-environment.ts";

await install();
const TEST = "tests/integration/engine/contract.test.ts";
let holds = true;
for (const mode of MODES) {
  say(mode);
  const chosen = { MRM_TRACE_VLLM: folder, MRM_TRACE_VLLM_PYTHON: python, MRM_TRACE_VLLM_MODE: mode };
  const child = Bun.spawn([process.execPath, "test", "--timeout", "900000", TEST, "-t", "^vLLM itself"], {
    env: { ...process.env, ...ENGINE_ENVIRONMENT, ...chosen },
    stdio: ["ignore", "inherit", "inherit"],
  });
  holds = (await child.exited) === 0 && holds;
}
process.exit(holds ? 0 : 1);
