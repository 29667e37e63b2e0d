/** The kernel's own table of the processes that are watched, which its programs keep. */
import { type BpfMap, u32Bytes } from "../../../kernel/bpf-map.ts";
import { recordLayout } from "../../../schema/records.ts";

const TARGET = recordLayout("target");

export interface WatchedProcess {
  readonly exec_epoch: number;
  /** Records of it that found no room so far. */
  readonly lost: number;
}

export interface TargetsTable {
  readonly fd: number;
  /** @throws MrmTraceError environment, where there is no room */
  add(pid: number): void;
  has(pid: number): boolean;
  drop(pid: number): void;
  /** All of them, by number, at one call to the kernel. */
  read(): Map<number, WatchedProcess>;
}

const keyOf = (pid: number): Uint8Array => u32Bytes(pid).subarray(0, 4);
const emptyTarget = (): Uint8Array => new Uint8Array(new ArrayBuffer(TARGET.bytes));

export function targetsTable(map: BpfMap): TargetsTable {
  return {
    fd: map.fd,
    add: (pid) => map.update(keyOf(pid), emptyTarget()),
    has: (pid) => map.lookup(keyOf(pid), emptyTarget()),
    drop: (pid) => void map.delete(keyOf(pid)),
    read() {
      const { count, keys, values } = map.elements();
      const found = new Map<number, WatchedProcess>();
      for (let i = 0; i < count; i++) {
        const value = i * TARGET.bytes;
        found.set(keys.getUint32(i * map.keyBytes, true), {
          exec_epoch: values.getUint32(value + TARGET.offsets.exec_epoch, true),
          lost: values.getUint32(value + TARGET.offsets.lost, true),
        });
      }
      return found;
    },
  };
}
