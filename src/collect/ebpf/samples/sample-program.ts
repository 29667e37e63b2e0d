/** The kernel program of the sampling sources, and the accounts that it keeps. */
import type { BpfObject } from "../../../kernel/bpf-object.ts";
import type { BpfProgram } from "../../../kernel/bpf-program.ts";
import { openBpfObject } from "../../../kernel/open-bpf-object.ts";
import { openRing, type RingReader } from "../../../kernel/ring.ts";
import { ringLayout } from "../../../schema/c-header.ts";
import { recordLayout } from "../../../schema/records.ts";
import { SAMPLE, SAMPLE_COOKIE } from "../../../schema/shared-numbers.ts";

const COUNT = recordLayout("sample_count");
export type CountName =
  | "runs"
  | "period"
  | "foreign"
  | "not_memory"
  | "kernel_address"
  | "throttled"
  | "unreadable"
  | "stopped_ns";

export interface SampleProgram extends Disposable {
  readonly program: BpfProgram;
  readonly ring: RingReader;
  /** What became of the samples of an event of the plan on one CPU. */
  count(cpu: number, event: number, name: CountName): number;
}

/** The cookie that tells the program which event of the plan it runs for; with `opKnown` a sample needs no op. */
export function cookieOf(event: number, opKnown: boolean): bigint {
  return BigInt(event | (opKnown ? SAMPLE_COOKIE.op_known : 0));
}

/** A kernel runs one of them: reading samples in place (6.2 and later), or copying them. */
const SAMPLE_PROGRAMS = ["sample_in_place", "sample_by_copy"] as const;

/**
 * Loads the program that reads samples in place where the kernel allows it (6.2 and later), else the one that copies.
 * @param reuse maps of another object, by name: fd
 * @throws MrmTraceError environment
 */
export async function loadSampleObject(
  reuse: Readonly<Record<string, number>>,
): Promise<{ readonly object: BpfObject; readonly program: string }> {
  const common = { reuse, perCpu: ["sample_ring", "sample_counts"] };
  const [first, second] = SAMPLE_PROGRAMS;
  try {
    return { object: await openBpfObject("samples", { ...common, skip: [second] }), program: first };
  } catch {
    // Which of the two a kernel takes is known by loading only; what else is wrong fails the second time, too.
    return { object: await openBpfObject("samples", { ...common, skip: [first] }), program: second };
  }
}

/** Loads the program and maps what it writes. @throws MrmTraceError environment */
export async function loadSampleProgram(targetsFd: number): Promise<SampleProgram> {
  using opening = new DisposableStack();
  const { object, program } = await loadSampleObject({ targets: targetsFd });
  opening.use(object);
  const mapped = opening.use(object.map("sample_counts").mmap());
  const ring = opening.use(openRing(object.map("sample_ring"), ringLayout("sample")));
  const view = new DataView(mapped.buffer);
  const owned = opening.move();
  return {
    program: object.program(program),
    ring,
    count: (cpu, event, name) =>
      Number(view.getBigUint64((cpu * SAMPLE.events + event) * COUNT.bytes + COUNT.offsets[name], true)),
    [Symbol.dispose]() {
      owned.dispose();
    },
  };
}
