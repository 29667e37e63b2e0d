/** The software that a run, an import or the memray collector needs: its versions here. */

import { MrmTraceError } from "../errors.ts";
import { libbpf } from "../kernel/libbpf.ts";
import { check } from "../schema/check.ts";
import type { Check } from "../schema/examination.ts";
import { findProgram } from "../target/held-command.ts";
import { invokingUser, withoutPrivileges } from "../target/invoking-user.ts";
import { programAnswer } from "../target/program-answer.ts";

export interface ProgramFacts {
  /** Null where it is not on PATH. */
  readonly path: string | null;
  /** Null where it did not say within the time. */
  readonly version: string | null;
}

export interface SoftwareFacts {
  readonly bun: string;
  /** Range of package.json. */
  readonly bun_needed: string;
  readonly libbpf: { readonly version: string } | { readonly missing: string; readonly hint: string };
  readonly perf: ProgramFacts;
  readonly memray: ProgramFacts;
}

/** A program that hangs is killed. */
const ANSWER_MS = 4000;

/** Path of a program on PATH; null where there is none that we may run. */
export function programPath(name: string): string | null {
  try {
    return findProgram(name);
  } catch {
    return null;
  }
}

/** Asks a program for its version, without our privileges, and without bytecode files left by Python. */
async function askVersion(name: string, ...question: readonly string[]): Promise<ProgramFacts> {
  const path = programPath(name);
  if (path === null) return { path, version: null };
  const { exitCode, stdout } = await programAnswer([...withoutPrivileges(invokingUser()), path, ...question], {
    patienceMs: ANSWER_MS,
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: "1" },
  });
  const said = exitCode === 0 ? stdout : "";
  return { path, version: /\d+\.\d+[\w.+-]*/.exec(said)?.[0] ?? null };
}

function libbpfFacts(): SoftwareFacts["libbpf"] {
  try {
    return { version: String(libbpf().libbpf_version_string()).replace(/^v/, "") };
  } catch (error) {
    if (!(error instanceof MrmTraceError)) throw error;
    return { missing: error.message, hint: error.hint };
  }
}

export async function softwareFacts(bunNeeded: string): Promise<SoftwareFacts> {
  const [perf, memray] = await Promise.all([askVersion("perf", "version"), askVersion("memray", "--version")]);
  return { bun: Bun.version, bun_needed: bunNeeded, libbpf: libbpfFacts(), perf, memray };
}

function judgeProgram(name: string, { path, version }: ProgramFacts, use: string, install: string): Check {
  const data = { path, version };
  if (path === null) return check(name, "info", `not on PATH; only ${use} need it`, { fix: install, data });
  if (version === null) return check(name, "warn", `${path} does not say its version`, { fix: install, data });
  return check(name, "ok", `${version} (${path})`, { data });
}

export function judgeSoftware({ bun, bun_needed, libbpf: library, perf, memray }: SoftwareFacts): Check[] {
  return [
    Bun.semver.satisfies(bun, bun_needed)
      ? check("bun", "ok", bun, { data: { version: bun } })
      : check("bun", "fail", `${bun}, but ${bun_needed} is needed: its FFI is part of the tracer`, {
          fix: "bun upgrade",
          data: { version: bun, needed: bun_needed },
        }),
    "version" in library
      ? check("libbpf", "ok", library.version, { data: { version: library.version } })
      : check("libbpf", "fail", library.missing, { fix: library.hint, data: { version: null } }),
    judgeProgram(
      "perf",
      perf,
      "hardware samples by `perf mem`",
      "apt-get install linux-perf (Debian), dnf install perf (Fedora)",
    ),
    judgeProgram("memray", memray, "allocations of Python programs", "pip install memray"),
  ];
}
