/** The fault stream: rings of faults as they are taken, and of major faults as their I/O ends. */
import type { Batch } from "../../../columnar/batch.ts";
import { type BlockReader, blockReader } from "../../../columnar/blocks.ts";
import type { BpfObject } from "../../../kernel/bpf-object.ts";
import { onlineCpus } from "../../../kernel/cpus.ts";
import { openBpfObject } from "../../../kernel/open-bpf-object.ts";
import { PERF_TYPE, perfEventOpen, SOFTWARE } from "../../../kernel/perf-event.ts";
import { openRing, type RingReader } from "../../../kernel/ring.ts";
import { ringLayout } from "../../../schema/c-header.ts";
import type { LedgerRow } from "../../../schema/ledger.ts";

export interface FaultSource extends Disposable {
  /** At most one batch per ring area, each good until the next drain. */
  drain(): Batch<"fault">[];
  ledger(): LedgerRow[];
  /** Detaches the programs, so that the rings stand still and the last drain is exact. */
  detach(): void;
}

/** One ring each: faults in the program, in the kernel on its behalf, and those that waited for I/O. */
const AREAS = ["fault", "kernel_fault", "major"] as const;

/** Loads the programs, attached to nothing. @throws MrmTraceError environment */
export function loadFaultObject(reuse: Readonly<Record<string, number>>): Promise<BpfObject> {
  return openBpfObject("faults", { reuse, perCpu: AREAS.map((area) => `${area}_ring`) });
}

/** Loads and attaches the fault programs. @throws MrmTraceError environment */
export async function openFaults(targetsFd: number): Promise<FaultSource> {
  const owned = new DisposableStack();
  const attached = new DisposableStack();
  owned.use(attached);
  try {
    const object = owned.use(await loadFaultObject({ targets: targetsFd }));
    const layout = ringLayout("fault");
    const rings = AREAS.map((area) => ({
      area,
      read: blockReader("fault"),
      ring: owned.use(openRing(object.map(`${area}_ring`), layout)),
    }));
    attached.use(object.program("fault_user").attach());
    attached.use(object.program("fault_kernel").attach());
    const major = object.program("fault_major");
    for (const cpu of onlineCpus()) {
      const event = attached.use(
        perfEventOpen(
          { type: PERF_TYPE.software, config: SOFTWARE.page_faults_maj, sample_period: 1, sample_type: 8, flags: [] },
          -1,
          cpu,
          "major page faults",
        ),
      );
      attached.use(major.attachPerfEvent(event.fd));
    }
    return assemble(owned, attached, rings);
  } catch (error) {
    owned.dispose();
    throw error;
  }
}

function assemble(
  owned: DisposableStack,
  attached: DisposableStack,
  rings: readonly { readonly area: string; readonly ring: RingReader; readonly read: BlockReader }[],
): FaultSource {
  return {
    drain() {
      return rings.flatMap(({ ring, read }): Batch<"fault">[] => {
        const batch = ring.drain(read);
        return batch.rows > 0 ? [{ ...batch, table: "fault" }] : [];
      });
    },
    ledger: () =>
      rings.flatMap(({ area, ring }) => ring.ledger({ stream: "fault", source: "fault", stage: "ring", way: area })),
    detach() {
      attached.dispose();
    },
    [Symbol.dispose]() {
      owned.dispose();
    },
  };
}
