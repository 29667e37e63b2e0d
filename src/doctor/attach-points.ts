/** Which programs this kernel takes: every object is loaded, every program attached, and all is taken away again. */
import { SAMPLE_PROGRAMS } from "../collect/ebpf/samples/sample-program.ts";
import { openEngineObject } from "../engine/llama-cpp/object-probes.ts";
import { MrmTraceError } from "../errors.ts";
import { type BpfObject, openBpfObject } from "../kernel/bpf-object.ts";
import { bpfObjectHashes } from "../kernel/bpf-object-files.ts";
import type { BpfProgram } from "../kernel/bpf-program.ts";
import { onlineCpus } from "../kernel/cpus.ts";
import { PERF_TYPE, perfEventOpen, SOFTWARE } from "../kernel/perf-event.ts";
import { openProbedCall } from "../kernel/probed-call.ts";
import { linkUprobeMulti } from "../kernel/uprobe-multi.ts";
import type { Check } from "../schema/examination.ts";
import { check } from "./check.ts";

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

/** What is lost without an object; the objects that a run cannot do without. */
const GIVES: Readonly<Record<string, { readonly what: string; readonly required: boolean }>> = {
  lifecycle: { what: "mappings and processes", required: true },
  faults: { what: "page faults", required: true },
  engine: { what: "the engine's tensors and steps", required: true },
  watch: { what: "watched loads and stores", required: true },
  samples: { what: "hardware samples", required: false },
  clock: { what: "timer samples", required: false },
};
/** Measures rings in our own tests and benchmarks; a run does not load it. */
const NOT_OURS_TO_RUN = "bench";

/** The built objects that a run may load. */
export function objectNames(): string[] {
  return Object.keys(bpfObjectHashes()).filter((name) => name !== NOT_OURS_TO_RUN);
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
  const probed = openProbedCall();
  if (probed === null) return "no executable file of our own could be made to probe";
  opening.use(probed);
  const isReturn = program.section.startsWith("uretprobe");
  const places = [{ offset: 0n, cookie: 0n }];
  opening.use(
    multi
      ? linkUprobeMulti(program.fd, { path: probed.path, isReturn, places })
      : program.attachUprobe({ path: probed.path, offset: 0n, pid: process.pid, retprobe: isReturn }),
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

/** Programs to leave out, in each way to load an object: of two that do the same, a kernel may take one only. */
const WAYS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  samples: SAMPLE_PROGRAMS.map((taken) => SAMPLE_PROGRAMS.filter((other) => other !== taken)),
};

async function tryObject(name: string, skip: readonly string[], tracefs: boolean): Promise<AttachFacts> {
  try {
    const { object, multi } =
      name === "engine"
        ? await openEngineObject(openBpfObject, {})
        : { object: await openBpfObject(name, { skip }), multi: false };
    using opened = object;
    return tryPrograms(name, opened, multi, tracefs);
  } catch (error) {
    if (!(error instanceof MrmTraceError)) throw error;
    const { message, hint } = error;
    return { object: name, programs: 0, attached: 0, skipped: [], refused: [], error: { message, hint } };
  }
}

/** Loads one object and attaches each of its programs, one at a time. @param tracefs whether it is mounted */
export async function attachFacts(name: string, tracefs: boolean): Promise<AttachFacts> {
  const [first = [], ...others] = WAYS[name] ?? [];
  let found = await tryObject(name, first, tracefs);
  for (const skip of others) if (found.error !== null) found = await tryObject(name, skip, tracefs);
  return found;
}

/** The program that libbpf names in its log, and the first line of what was refused. */
function reasonOf(message: string): string {
  const program = /prog '([^']{1,64})': BPF program load failed: ([^\n]*)/.exec(message);
  const first = firstLine(message);
  return program === null ? first : `${first} (program ${program[1]}: ${program[2]})`;
}

export function judgeAttachPoints(found: readonly AttachFacts[]): Check[] {
  const objects = new Map(found.map((facts) => [facts.object, facts]));
  const missing = Object.entries(GIVES).flatMap(([name, { required }]) => {
    if (objects.has(name)) return [];
    const details = {
      fix: "scripts/build-bpf in a source tree; else install the package again",
      data: { object: name },
    };
    return [check(`attach: ${name}`, required ? "fail" : "info", "its BPF object is not built", details)];
  });
  return [...missing, ...found.map(judgeObject)];
}

function judgeObject(facts: AttachFacts): Check {
  const { what, required } = GIVES[facts.object] ?? { what: "not needed by a run", required: false };
  const name = `attach: ${facts.object}`;
  const bad = required ? "fail" : "info";
  const data = { ...facts };
  if (facts.error !== null) {
    return check(name, bad, `${what}: ${reasonOf(facts.error.message)}`, { fix: facts.error.hint, data });
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
