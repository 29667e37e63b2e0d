/** Facts of machines that are not this one, as the kernel's documentation and recorded trees describe them. */
import { rmSync } from "node:fs";
import type { PrivilegeFacts } from "../../../src/collect/ebpf/requirements.ts";
import { readPmus } from "../../../src/collect/ebpf/samples/pmu.ts";
import type { AttachFacts } from "../../../src/doctor/attach-points.ts";
import type { KernelFacts } from "../../../src/doctor/kernel.ts";
import type { PmuFacts } from "../../../src/doctor/pmu.ts";
import type { Check } from "../../../src/schema/examination.ts";
import { TREES, writeTree } from "../../fixtures/pmu-trees.ts";

export const GOOD_KERNEL: KernelFacts = {
  release: "6.12.48+deb13-amd64",
  architecture: "x64",
  cpu_model: "Xeon",
  virtualisation: "none",
  btf: true,
  tracefs: true,
  lockdown: "none",
  securityfs: "mounted",
  kptr_restrict: 1,
};

/** Every capability that Linux 6.12 knows. */
export const ALL_CAPABILITIES = 0x1ffffffffffn;

export const ROOT: PrivilegeFacts = {
  uid: 0,
  capabilities: ALL_CAPABILITIES,
  seccomp: 0,
  initial_pid_namespace: true,
  initial_user_namespace: true,
  own_proc: true,
  perf_event_paranoid: 3,
  tracefs: "open",
};

/** The PMUs of a documented tree of sysfs, on bare metal unless said otherwise. */
export function pmusOf(tree: keyof typeof TREES, virtualisation = "none"): PmuFacts {
  const folder = writeTree(TREES[tree]);
  try {
    return { pmus: readPmus(folder), kernelRelease: "6.12.48+deb13-amd64", virtualisation };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export function attached(object: string, change: Partial<AttachFacts> = {}): AttachFacts {
  return { object, programs: 3, attached: 3, skipped: [], refused: [], error: null, ...change };
}

/** The check of that name; throws where there is none. */
export function named(checks: readonly Check[], name: string): Check {
  const found = checks.find((check) => check.name === name);
  if (found === undefined) throw new Error(`no check ${name} among ${checks.map((check) => check.name).join(", ")}`);
  return found;
}

/** Status and name of each check that warns or fails. */
export function bad(checks: readonly Check[]): string[] {
  return checks
    .filter(({ status }) => status === "fail" || status === "warn")
    .map(({ name, status }) => `${status} ${name}`);
}

/** Checks that warn or fail without saying what to do. */
export function withoutFix(checks: readonly Check[]): string[] {
  return checks.filter(({ status, fix }) => (status === "warn" || status === "fail") && !fix).map(({ name }) => name);
}
