/** The part that looks, at a slow pace, at which pages of the target are in memory; it has no program in the kernel. */
import { batchFromRows } from "../../../columnar/rows.ts";
import { PAGE_BYTES } from "../../../kernel/libc.ts";
import { openPagemap } from "../../../kernel/pagemap.ts";
import type { LedgerRow } from "../../../schema/ledger.ts";
import type { RowOf } from "../../../schema/row.ts";
import type { Part, PlannedPart, Scene } from "../part.ts";
import { createLooking, type LookingCounts } from "./looking.ts";

const NAME = "residency";
const PLACE = {
  stream: "residency",
  source: "residency",
  pid: null,
  dropped: 0,
  dropped_by: {},
  unseen_estimate: null,
} as const;

function ledger({ whole, given_up, rows, late_rows }: LookingCounts): LedgerRow[] {
  const filtered = Object.values(given_up).reduce((sum, n) => sum + n, 0);
  return [
    // A look that is under way is none yet.
    { ...PLACE, stage: "attach", way: "looks", seen: whole + filtered, kept: whole, filtered },
    { ...PLACE, stage: "observe", way: "pages", seen: rows + late_rows, kept: rows, filtered: late_rows },
  ];
}

/** True where this kernel tells which pages are in memory: asked of ourselves. */
function canLook(): boolean {
  using pagemap = openPagemap(process.pid);
  return pagemap?.scan(0n, BigInt(PAGE_BYTES)) != null;
}

const UNTOLD =
  "this kernel does not tell which pages are in memory (PAGEMAP_SCAN, Linux 6.7): resident_bytes are no more than upper ends";

const DENIED =
  "we may not read which pages of the target are in memory (/proc/PID/pagemap): resident_bytes are no more than upper ends";

async function start({ mappings, looks }: Scene): Promise<Part> {
  const isTold = canLook();
  const looking = createLooking({ maps: mappings.maps, look: looks.kind("looks at pages in memory") });
  let last: RowOf<"residency">[] = [];
  mappings.follow((rows) => {
    for (const { kind, pid } of rows) if (kind === "exit" || kind === "exec") looking.gone(pid);
  });
  return {
    name: NAME,
    sees: { stream: "residency", source: "residency" },
    poll(nowNs) {
      const rows = isTold ? looking.poll(nowNs) : [];
      return rows.length === 0 ? [] : [batchFromRows("residency", rows)];
    },
    leave() {
      if (isTold) last = looking.last();
    },
    detach() {},
    stop: () => ({
      batches: last.length === 0 ? [] : [batchFromRows("residency", last)],
      ledger: ledger(looking.counts),
    }),
    account: () => ledger(looking.counts),
    warnings() {
      if (!isTold) return [UNTOLD];
      const { whole, given_up } = looking.counts;
      return whole === 0 && given_up.denied > 0 ? [DENIED] : [];
    },
    details: () => ({ residency: looking.counts }),
    [Symbol.dispose]: () => looking[Symbol.dispose](),
  };
}

export const residencyPart: PlannedPart = {
  name: NAME,
  sources: [],
  identifies: [],
  blindTo: null,
  spends: false,
  start,
};
