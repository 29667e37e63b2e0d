#!/usr/bin/env bun
/**
 * The contract test of the engines (tests/integration/engine/contract.test.ts) on real PyTorch with transformers, of which the tests have
 * a stand-in. Run by scripts/test-engines; 3 GB of packages of PyPI, 5.6 GB installed; needs python3-venv and root. Ends with 1 where it
 * does not hold.
 */
import { install, python } from "../transformers-environment.ts";

await install();
const TEST = "tests/integration/engine/contract.test.ts";
const child = Bun.spawn([process.execPath, "test", "--timeout", "400000", TEST, "-t", "^PyTorch itself"], {
  env: { ...process.env, OMP_WAIT_POLICY: "passive", MRM_TRACE_TRANSFORMERS_PYTHON: python },
  stdio: ["ignore", "inherit", "inherit"],
});
process.exit((await child.exited) === 0 ? 0 : 1);
