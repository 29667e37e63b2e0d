#!/usr/bin/env bun
/**
 * The contract test of the engines (tests/integration/engine/contract.test.ts) on real vLLM, of which the tests have a stand-in. Run by
 * scripts/test-engines; 6.2 GB installed from PyPI, needs python3-venv, libnuma1 and root. Ends with 1 where it does not hold.
 */
import { folder, install, python } from "../vllm-environment.ts";

await install();
const child = Bun.spawn(
  [process.execPath, "test", "--timeout", "900000", "tests/integration/engine/contract.test.ts", "-t", "^vLLM itself"],
  {
    env: { ...process.env, MRM_TRACE_VLLM: folder, MRM_TRACE_VLLM_PYTHON: python },
    stdio: ["ignore", "inherit", "inherit"],
  },
);
process.exit(await child.exited);
