/** Finds the engine among the mapped objects: every executable file mapping is offered to the engine's session once. */
import type { EngineSession } from "../../../engine/probing/session.ts";
import type { MappingEvent } from "../../../regions/mapping-row.ts";
import { mappedFile } from "./mapped-file.ts";

const PROT_EXEC = 4;

export interface EngineObjects {
  /** Offers the executable file mappings among these rows; resolves when all were looked at. */
  offer(rows: readonly MappingEvent[]): Promise<void>;
  /** Offers nothing more, what is under way included: the session is about to end. */
  close(): void;
  /** Objects that could not be read or probed, each with the reason. */
  warnings(): readonly string[];
}

export function createEngineObjects(session: EngineSession): EngineObjects {
  const offered = new Set<string>();
  const refused = new Map<string, string>();
  let closed = false;
  return {
    warnings: () => [...refused].map(([path, why]) => `no probes in ${path}: ${why.split("\n")[0]}`),
    close() {
      closed = true;
    },
    async offer(rows) {
      for (const row of rows) {
        if (closed) return;
        if ((row.kind !== "file" && row.kind !== "snapshot") || row.path === null || row.inode === 0n) continue;
        if (!((row.prot ?? 0) & PROT_EXEC) || !row.path.startsWith("/")) continue;
        const file = mappedFile({ ...row, path: row.path });
        const key = `${row.pid}/${row.exec_epoch}/${file?.identity ?? `${row.dev}/${row.inode}`}`;
        if (offered.has(key)) continue;
        offered.add(key);
        try {
          const isSeen = row.kind === "file";
          await session.attachObject(row.path, row.pid, row.timestamp_ns, file?.openPath ?? null, isSeen);
        } catch (error) {
          refused.set(row.path, error instanceof Error ? error.message : String(error));
        }
      }
    },
  };
}
