/** Opens a sampled event on one CPU, at the highest precise level that the PMU grants. */
import { MrmTraceError } from "../../../errors.ts";
import { errnoName, type Fd } from "../../../kernel/libc.ts";
import { IOC, type PerfEventResult, perfIoctl, tryPerfEventOpen } from "../../../kernel/perf-event.ts";
import { leaderAttr, sampleAttr } from "./sample-attr.ts";
import type { SampleEvent } from "./sample-event.ts";

export interface OpenedEvent extends Disposable {
  readonly event: SampleEvent;
  readonly cpu: number;
  readonly fd: Fd;
  readonly precise: number;
  /** Stops counting and sampling; the count stays readable. */
  disable(): void;
  /** Lets the leader run; the event itself is enabled by attaching its program. */
  enableLeader(): void;
}

export type OpenResult =
  | { readonly ok: true; readonly opened: OpenedEvent }
  | { readonly ok: false; readonly errno: number; readonly what: string };

const ERRNO = { EPERM: 1, EACCES: 13, EBUSY: 16, EINVAL: 22, EOPNOTSUPP: 95 } as const;
/** The kernel's answers to a precise level that it does not grant. */
const LEVEL_REFUSED: readonly number[] = [ERRNO.EINVAL, ERRNO.EOPNOTSUPP];

/**
 * Tries precise levels from the highest down, as long as the kernel answers that it does not grant the level.
 * @returns the first that was granted with its level, else the last refusal
 */
export function probePrecise(
  most: number,
  least: number,
  attempt: (level: number) => PerfEventResult,
): { readonly result: PerfEventResult; readonly level: number } {
  for (let level = most; ; level--) {
    const result = attempt(level);
    if (result.ok || level <= least || !LEVEL_REFUSED.includes(result.errno)) return { result, level };
  }
}

/** Opens it disabled, at the highest precise level that is granted. */
export function openSampleEvent(
  event: SampleEvent,
  cpu: number,
  period: number,
  kernelRelease: string,
  precise = event.mostPrecise,
): OpenResult {
  const what = `${event.name} of ${event.pmu}`;
  const owned = new DisposableStack();
  let leader: Fd | null = null;
  if (event.leader !== null) {
    const result = tryPerfEventOpen(leaderAttr(event, event.leader), -1, cpu);
    if (!result.ok) return { ok: false, errno: result.errno, what: `the leader of ${what}` };
    leader = owned.use(result.event);
  }
  const { result, level } = probePrecise(precise, event.leastPrecise, (ip) =>
    tryPerfEventOpen(sampleAttr(event, ip, period, kernelRelease), -1, cpu, leader?.fd ?? -1),
  );
  if (!result.ok) {
    owned.dispose();
    return { ok: false, errno: result.errno, what };
  }
  const fd = owned.use(result.event);
  return { ok: true, opened: openedEvent({ event, cpu, fd, leader, precise: level, owned }) };
}

interface Parts {
  readonly event: SampleEvent;
  readonly cpu: number;
  readonly fd: Fd;
  readonly leader: Fd | null;
  readonly precise: number;
  readonly owned: DisposableStack;
}

function openedEvent({ event, cpu, fd, leader, precise, owned }: Parts): OpenedEvent {
  return {
    event,
    cpu,
    fd,
    precise,
    disable() {
      perfIoctl(fd, IOC.disable);
    },
    enableLeader() {
      if (leader !== null) perfIoctl(leader, IOC.enable);
    },
    [Symbol.dispose]() {
      owned.dispose();
    },
  };
}

/** What a refusal means for the user. */
export function openRefused(result: OpenResult & { readonly ok: false }, cpu: number): MrmTraceError {
  const message = `opening ${result.what} on CPU ${cpu} failed: ${errnoName(result.errno)}`;
  return new MrmTraceError("environment", message, hintOf(result.errno));
}

function hintOf(errno: number): string {
  switch (errno) {
    case ERRNO.EPERM:
    case ERRNO.EACCES:
      return "run as root, or: sysctl kernel.perf_event_paranoid=-1";
    case ERRNO.EBUSY:
      return "another tool samples with this PMU: end it (perf, a profiler), or use --source watch";
    case ERRNO.EOPNOTSUPP:
      return "the PMU does not sample here (a VM without vPEBS?); use --source watch";
    default:
      return "use --source watch, and report this with the output of `mrm-trace run --debug`";
  }
}
