/** Which programs this kernel takes: every object is loaded, every program attached, and all is taken away again. */
import type { PartPrograms } from "../collect/ebpf/part.ts";
import { PROGRAMS } from "../collect/ebpf/parts.ts";
import { MrmTraceError } from "../errors.ts";
import { SEE_RIGHTS } from "../kernel/bpf-error.ts";
import type { BpfObject } from "../kernel/bpf-object.ts";
import { bpfObjectHashes } from "../kernel/bpf-object-files.ts";
import type { BpfProgram } from "../kernel/bpf-program.ts";
import { onlineCpus } from "../kernel/cpus.ts";
import { PERF_TYPE, perfEventOpen, SOFTWARE } from "../kernel/perf-event.ts";
import { openProbedCalls } from "../kernel/probed-call.ts";
import { linkUprobeMulti } from "../kernel/uprobe-multi.ts";
import { check } from "../schema/check.ts";
import type { Check } from "../schema/examination.ts";

export interface AttachFacts {
  readonly object: string;
  readonly programs: number;
  readonly attached: number;
  /** Programs that were not tried, and why. */
  readonly skipped: readonly { readonly program: string; readonly why: string }[];
  readonly refused: readonly { readonly program: string; readonly section: string; readonly why: string }[];
  /** Why the object was not loaded, and the fix; null where it was. */
  readonly error: { readonly message: string; readonly hint: string } | null;
}

/** Parts of the eBPF collector whose objects are built. */
export function builtParts(): readonly PartPrograms[] {
  const built = bpfObjectHashes();
  return PROGRAMS.filter(({ name }) => name in built);
}

/** A software event that never happens: programs attach to it as to any other. */
function attachToNothing(program: BpfProgram): Disposable {
  using opening = new DisposableStack();
  const cpu = onlineCpus()[0] ?? 0;
  const attr = { type: PERF_TYPE.software, config: SOFTWARE.dummy, sample_period: 1, flags: ["disabled"] } as const;
  opening.use(program.attachPerfEvent(opening.use(perfEventOpen(attr, -1, cpu, "trying a program")).fd));
  return opening.move();
}

/** Probes a function of our own, which nobody calls. */
function attachToOurselves(program: BpfProgram, multi: boolean): Disposable | string {
  using opening = new DisposableStack();
  const probed = openProbedCalls();
  if (probed === null) return "no executable file of our own could be made to probe";
  opening.use(probed);
  const isReturn = program.section.startsWith("uretprobe");
  const { offset } = probed.carriedOut;
  opening.use(
    multi
      ? linkUprobeMulti(program.fd, { path: probed.path, isReturn, places: [{ offset, cookie: 0n }] })
      : program.attachUprobe({ path: probed.path, offset, pid: process.pid, retprobe: isReturn }),
  );
  return opening.move();
}

/** Attaches one program where its section says; a reason where it was not tried. @throws MrmTraceError when refused */
function attach(program: BpfProgram, multi: boolean, tracefs: boolean): Disposable | string {
  const kind = program.section.split("/")[0] ?? "";
  if (kind === "perf_event") return attachToNothing(program);
  if (kind === "uprobe" || kind === "uretprobe") return attachToOurselves(program, multi);
  if (kind === "tp" && !tracefs) return "tracefs is not mounted";
  return program.attach();
}

const firstLine = (text: string): string => text.split("\n")[0] ?? text;

function tryPrograms(name: string, object: BpfObject, multi: boolean, tracefs: boolean): AttachFacts {
  const skipped: { program: string; why: string }[] = [];
  const refused: { program: string; section: string; why: string }[] = [];
  let attached = 0;
  for (const programName of object.programs) {
    const program = object.program(programName);
    try {
      const link = attach(program, multi, tracefs);
      if (typeof link === "string") {
        skipped.push({ program: programName, why: link });
        continue;
      }
      link[Symbol.dispose]();
      attached += 1;
    } catch (error) {
      if (!(error instanceof MrmTraceError)) throw error;
      refused.push({ program: programName, section: program.section, why: firstLine(error.message) });
    }
  }
  return { object: name, programs: object.programs.length, attached, skipped, refused, error: null };
}

/** Loads the programs of a part as a run does and attaches each, one at a time. @param tracefs whether it is mounted */
export async function attachFacts({ name, load }: PartPrograms, tracefs: boolean): Promise<AttachFacts> {
  try {
    const { object, uprobeMulti } = await load({});
    using opened = object;
    return tryPrograms(name, opened, uprobeMulti, tracefs);
  } catch (error) {
    if (!(error instanceof MrmTraceError)) throw error;
    const { message, hint } = error;
    return { object: name, programs: 0, attached: 0, skipped: [], refused: [], error: { message, hint } };
  }
}

/** The program that libbpf names in its log, and the first line of what was refused. */
function reasonOf(message: string): string {
  const program = /prog '([^']{1,64})': BPF program load failed: ([^\n]*)/.exec(message);
  const first = firstLine(message);
  return program === null ? first : `${first} (program ${program[1]}: ${program[2]})`;
}

export function judgeAttachPoints(found: readonly AttachFacts[]): Check[] {
  return PROGRAMS.map((part) => {
    const facts = found.find(({ object }) => object === part.name);
    if (facts !== undefined) return judgePart(part, facts);
    const details = {
      fix: "scripts/build-bpf in a source tree; else install the package again",
      data: { object: part.name },
    };
    return check(`attach: ${part.name}`, part.required ? "fail" : "info", "its BPF object is not built", details);
  });
}

function judgePart({ gives: what, required }: PartPrograms, facts: AttachFacts): Check {
  const name = `attach: ${facts.object}`;
  const bad = required ? "fail" : "info";
  const data = { ...facts };
  if (facts.error !== null) {
    // Doctor itself says which.
    const fix = facts.error.hint === SEE_RIGHTS ? "give the rights that are named missing above" : facts.error.hint;
    return check(name, bad, `${what}: ${reasonOf(facts.error.message)}`, { fix, data });
  }
  const [first] = facts.refused;
  const count = `${facts.attached} of ${facts.programs} programs load and attach`;
  if (first !== undefined) {
    const others = facts.refused.length > 1 ? `, and ${facts.refused.length - 1} more` : "";
    const summary = `${what}: ${count}; refused: ${first.program} at ${first.section} (${first.why})${others}`;
    const fix = "see privileges, tracefs and lockdown above; if they are fine, report it with: mrm-trace doctor --json";
    return check(name, bad, summary, { fix, data });
  }
  const [skipped] = facts.skipped;
  if (skipped !== undefined) {
    const summary = `${what}: ${count}, ${facts.skipped.length} were not tried: ${skipped.why}`;
    return check(name, "warn", summary, { fix: "sudo mount -t tracefs tracefs /sys/kernel/tracing", data });
  }
  return check(name, "ok", `${what}: ${count}`, { data });
}
