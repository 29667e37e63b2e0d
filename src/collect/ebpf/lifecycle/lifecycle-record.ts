/** Lifecycle records of the kernel programs become rows of the mapping table. */

import { emptyMappingEvent, type MappingEvent } from "../../../regions/mapping-row.ts";
import { LIFECYCLE_KINDS, recordLayout } from "../../../schema/records.ts";

const LAYOUT = recordLayout("lifecycle_record");
const AT = LAYOUT.offsets;

export interface LifecycleDecoder {
  /** The row of the record at `offset`, or null (counted) where it cannot be one. */
  decode(view: DataView, offset: number, length: number): MappingEvent | null;
  /** A process has ended without a record: its number may be given to another. */
  forget(pid: number, exec_epoch: number): void;
  readonly malformed: number;
}

/**
 * A decoder for one run; it remembers every process's break, which brk alone does not say.
 * A mapping takes effect when its call returns, an unmapping when its call begins: another thread may get the same
 * range in between.
 */
export function createLifecycleDecoder(): LifecycleDecoder {
  const breaks = new Map<string, bigint>();
  let malformed = 0;
  return {
    get malformed() {
      return malformed;
    },
    forget: (pid, exec_epoch) => void breaks.delete(`${pid}/${exec_epoch}`),
    decode(view, offset, length) {
      const kind = length >= LAYOUT.bytes ? LIFECYCLE_KINDS[view.getUint32(offset + AT.kind, true)] : undefined;
      if (kind === undefined) {
        malformed += 1;
        return null;
      }
      const begin_ns = view.getBigUint64(offset + AT.begin_ns, true);
      const end_ns = view.getBigUint64(offset + AT.end_ns, true);
      const arg = (i: number): bigint => view.getBigUint64(offset + AT.args + 8 * i, true);
      const result = view.getBigInt64(offset + AT.result, true);
      const pid = view.getUint32(offset + AT.pid, true);
      const exec_epoch = view.getUint32(offset + AT.exec_epoch, true);
      const row = {
        ...emptyMappingEvent(kind, kind === "munmap" ? begin_ns : end_ns, pid),
        tid: view.getUint32(offset + AT.tid, true),
        exec_epoch,
        begin_ns,
        end_ns,
      };
      const failed = result < 0n && result > -4096n;
      switch (kind) {
        case "mmap":
          return {
            ...row,
            addr: failed ? arg(0) : BigInt.asUintN(64, result),
            size_bytes: arg(1),
            prot: Number(arg(2) & 0xffffffffn),
            flags: Number(arg(3) & 0xffffffffn),
            file_offset_bytes: arg(5),
            result,
          };
        case "munmap":
          return { ...row, addr: arg(0), size_bytes: arg(1), result };
        case "mremap":
          return {
            ...row,
            addr: failed ? arg(0) : BigInt.asUintN(64, result),
            size_bytes: arg(2),
            old_addr: arg(0),
            old_size_bytes: arg(1),
            flags: Number(arg(3) & 0xffffffffn),
            result,
          };
        case "brk": {
          const key = `${pid}/${exec_epoch}`;
          const before = breaks.get(key) ?? null;
          breaks.set(key, BigInt.asUintN(64, result));
          return { ...row, addr: arg(0), old_addr: before, result };
        }
        case "madvise":
          return { ...row, addr: arg(0), size_bytes: arg(1), flags: Number(arg(2) & 0xffffffffn), result };
        case "mprotect":
          return { ...row, addr: arg(0), size_bytes: arg(1), prot: Number(arg(2) & 0xffffffffn), result };
        case "fork": {
          const child_pid = Number(arg(0) & 0xffffffffn);
          const before = breaks.get(`${pid}/${exec_epoch}`);
          if (before !== undefined) breaks.set(`${child_pid}/0`, before);
          return { ...row, child_pid, flags: Number(arg(1) & 0xffffffffn) };
        }
        case "exit":
          // The number may be given to another process.
          breaks.delete(`${pid}/${exec_epoch}`);
          return { ...row, result };
        case "exec":
          breaks.delete(`${pid}/${exec_epoch - 1}`);
          return { ...row, result };
        default:
          return { ...row, result };
      }
    },
  };
}
