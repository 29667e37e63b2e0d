/** The fault stream: rings of faults as they are taken, and of major faults as their I/O ends. */
import type { Batch } from "../../columnar/batch.ts";
import { type BlockReader, blockReader } from "../../columnar/blocks.ts";
import { openBpfObject } from "../../kernel/bpf-object.ts";
import { onlineCpus } from "../../kernel/cpus.ts";
import { PERF_TYPE, perfEventOpen, SOFTWARE } from "../../kernel/perf-event.ts";
import { openRing, type RingReader } from "../../kernel/ring.ts";
import { ringLayout } from "../../schema/c-header.ts";
import type { LedgerRow } from "../../schema/ledger.ts";

export interface FaultSource extends Disposable {
  /** At most one batch per ring area, each good until the next drain. */
  drain(): Batch<"fault">[];
  ledger(): LedgerRow[];
  /** Detaches the programs, so that the rings stand still and the last drain is exact. */
  detach(): void;
}

const AREAS = ["fault", "kernel_fault", "major"] as const;

/** Loads and attaches the fault programs. @throws MrmTraceError environment */
export async function openFaults(targetsFd: number): Promise<FaultSource> {
  const owned = new DisposableStack();
  const attached = new DisposableStack();
  owned.use(attached);
  try {
    const object = owned.use(
      await openBpfObject("faults", {
        reuse: { targets: targetsFd },
        perCpu: AREAS.flatMap((area) => [`${area}_ctl`, `${area}_ring`]),
      }),
    );
    const layout = ringLayout("fault");
    const rings = AREAS.map((area) => ({
      area,
      read: blockReader("fault"),
      ring: owned.use(openRing(object.map(`${area}_ctl`), object.map(`${area}_ring`), layout)),
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
  const corrupt = new Map<string, number>();
  return {
    drain() {
      const out: Batch<"fault">[] = [];
      for (const { area, ring, read } of rings) {
        const drained = ring.drain();
        if (drained.blocks === 0) continue;
        const { batch, corruptRows } = read(drained);
        if (corruptRows > 0) corrupt.set(area, (corrupt.get(area) ?? 0) + corruptRows);
        if (batch.rows > 0) out.push({ ...batch, table: "fault" });
      }
      return out;
    },
    ledger() {
      return rings.flatMap(({ area, ring }) => {
        const rows = ring.ledger(`fault/${area}`);
        const lost = corrupt.get(area) ?? 0;
        const first = rows[0];
        if (lost === 0 || first === undefined) return rows;
        rows[0] = {
          ...first,
          kept: first.kept - lost,
          dropped: first.dropped + lost,
          dropped_by: { ...first.dropped_by, corrupt_block: lost },
        };
        return rows;
      });
    },
    detach() {
      attached.dispose();
    },
    [Symbol.dispose]() {
      owned.dispose();
    },
  };
}
