import { describe, expect, test } from "bun:test";
import { createLifecycleDecoder } from "../../../../../src/collect/ebpf/lifecycle/lifecycle-record.ts";
import { LIFECYCLE_KINDS, recordLayout } from "../../../../../src/schema/records.ts";

const { offsets, bytes } = recordLayout("lifecycle_record");

interface Made {
  readonly kind: (typeof LIFECYCLE_KINDS)[number];
  readonly args?: readonly bigint[];
  readonly result?: bigint;
  readonly pid?: number;
  readonly epoch?: number;
}

/** A record as the kernel program writes it: begun at 100, ended at 200, by thread 11 of process 10. */
function made({ kind, args = [], result = 0n, pid = 10, epoch = 2 }: Made): DataView {
  const view = new DataView(new ArrayBuffer(bytes));
  const at = (field: keyof typeof offsets): number => offsets[field];
  view.setBigUint64(at("begin_ns"), 100n, true);
  view.setBigUint64(at("end_ns"), 200n, true);
  for (const [i, value] of args.entries()) view.setBigUint64(at("args") + 8 * i, value, true);
  view.setBigInt64(at("result"), result, true);
  view.setUint32(at("kind"), LIFECYCLE_KINDS.indexOf(kind), true);
  view.setUint32(at("pid"), pid, true);
  view.setUint32(at("tid"), 11, true);
  view.setUint32(at("exec_epoch"), epoch, true);
  return view;
}

function rowOf(record: Made) {
  return createLifecycleDecoder().decode(made(record), 0, bytes);
}

const HIGH = 0xffff_f000_0000_0000n;

describe("a lifecycle record", () => {
  test("says who, in which life of the pid, and when the call began and ended", () => {
    const who = { pid: 10, tid: 11, exec_epoch: 2, begin_ns: 100n, end_ns: 200n };
    for (const kind of LIFECYCLE_KINDS) expect(rowOf({ kind })).toMatchObject({ kind, ...who });
  });

  test("takes effect when the call returns, but for munmap, whose range may be taken again before it returns", () => {
    for (const kind of LIFECYCLE_KINDS) expect(rowOf({ kind })?.timestamp_ns).toBe(kind === "munmap" ? 100n : 200n);
  });

  test("of mmap has the address that the kernel chose, and the offset of the sixth argument", () => {
    const args = [0x1000n, 0x2000n, 3n, 0x22n, 0xffff_ffffn, 0x3000n];
    expect(rowOf({ kind: "mmap", args, result: 0x7000n })).toMatchObject({
      addr: 0x7000n,
      size_bytes: 0x2000n,
      prot: 3,
      flags: 0x22,
      file_offset_bytes: 0x3000n,
      result: 0x7000n,
    });
  });

  test("of an mmap that failed has the address that was asked for, and the errno", () => {
    expect(rowOf({ kind: "mmap", args: [0x1000n, 0n], result: -22n })).toMatchObject({ addr: 0x1000n, result: -22n });
  });

  test("keeps addresses of the upper half: only the last 4095 values are errors", () => {
    const result = BigInt.asIntN(64, HIGH);
    expect(rowOf({ kind: "mmap", args: [0n, 1n], result })).toMatchObject({ addr: HIGH, result });
    expect(rowOf({ kind: "mmap", args: [7n, 1n], result: -4096n })?.addr).toBe(BigInt.asUintN(64, -4096n));
    expect(rowOf({ kind: "mmap", args: [7n, 1n], result: -4095n })?.addr).toBe(7n);
    expect(rowOf({ kind: "munmap", args: [HIGH, 4096n] })?.addr).toBe(HIGH);
  });

  test("takes int arguments as the kernel does, by their low 32 bits", () => {
    const args = [0x1000n, 0x2000n, 0xdead_beef_0000_0003n, 0xdead_beef_0000_0022n];
    expect(rowOf({ kind: "mmap", args, result: 0x1000n })).toMatchObject({ prot: 3, flags: 0x22 });
    expect(rowOf({ kind: "mprotect", args })).toMatchObject({ prot: 3 });
    expect(rowOf({ kind: "madvise", args })).toMatchObject({ flags: 3 });
  });

  test("of mremap has both places, and the new size", () => {
    const args = [0x1000n, 0x2000n, 0x5000n, 1n];
    expect(rowOf({ kind: "mremap", args, result: 0x9000n })).toMatchObject({
      addr: 0x9000n,
      size_bytes: 0x5000n,
      old_addr: 0x1000n,
      old_size_bytes: 0x2000n,
      flags: 1,
    });
    expect(rowOf({ kind: "mremap", args, result: -12n })).toMatchObject({ addr: 0x1000n, result: -12n });
  });

  test("of munmap, madvise and mprotect has range and result", () => {
    for (const kind of ["munmap", "madvise", "mprotect"] as const) {
      const row = rowOf({ kind, args: [0x1000n, 0x2000n, 4n], result: -22n });
      expect(row).toMatchObject({ addr: 0x1000n, size_bytes: 0x2000n, result: -22n });
    }
  });

  test("of fork has the child, of exit the status", () => {
    expect(rowOf({ kind: "fork", args: [77n] })).toMatchObject({ child_pid: 77, result: null });
    expect(rowOf({ kind: "exit", result: 9n })).toMatchObject({ child_pid: null, result: 9n });
  });

  test("is read at its offset in the ring", () => {
    const ring = new Uint8Array(bytes + 16);
    ring.set(new Uint8Array(made({ kind: "munmap", args: [5n, 6n] }).buffer), 16);
    expect(createLifecycleDecoder().decode(new DataView(ring.buffer), 16, bytes)).toMatchObject({ addr: 5n });
  });

  test("that is too short, or of no known kind, is counted and left out", () => {
    const decoder = createLifecycleDecoder();
    const unknown = made({ kind: "mmap" });
    unknown.setUint32(offsets.kind ?? 0, LIFECYCLE_KINDS.length, true);
    expect(decoder.decode(unknown, 0, bytes)).toBeNull();
    expect(decoder.decode(made({ kind: "mmap" }), 0, bytes - 1)).toBeNull();
    expect(decoder.malformed).toBe(2);
    expect(decoder.decode(made({ kind: "mmap" }), 0, bytes)).not.toBeNull();
    expect(decoder.malformed).toBe(2);
  });
});

describe("the break of a process", () => {
  const brk = (result: bigint, who: Partial<Made> = {}) => made({ kind: "brk", args: [result], result, ...who });

  test("is remembered from one call to the next, and unknown before the first", () => {
    const { decode } = createLifecycleDecoder();
    expect(decode(brk(0x1000n), 0, bytes)).toMatchObject({ old_addr: null, result: 0x1000n });
    expect(decode(brk(0x5000n), 0, bytes)).toMatchObject({ old_addr: 0x1000n, result: 0x5000n });
    expect(decode(brk(0x2000n), 0, bytes)).toMatchObject({ old_addr: 0x5000n, result: 0x2000n });
  });

  test("is a new one after exec", () => {
    const { decode } = createLifecycleDecoder();
    decode(brk(0x1000n), 0, bytes);
    expect(decode(brk(0x9000n, { epoch: 3 }), 0, bytes)?.old_addr).toBeNull();
  });

  test("is inherited by a child, and its own from then on", () => {
    const { decode } = createLifecycleDecoder();
    decode(brk(0x1000n), 0, bytes);
    decode(made({ kind: "fork", args: [77n] }), 0, bytes);
    decode(brk(0x3000n), 0, bytes);
    expect(decode(brk(0x2000n, { pid: 77, epoch: 0 }), 0, bytes)?.old_addr).toBe(0x1000n);
    expect(decode(brk(0x4000n), 0, bytes)?.old_addr).toBe(0x3000n);
  });

  test("is not that of an earlier process with the same number", () => {
    const { decode } = createLifecycleDecoder();
    decode(brk(0x8000n, { pid: 77, epoch: 0 }), 0, bytes);
    decode(made({ kind: "exit", pid: 77, epoch: 0 }), 0, bytes);
    decode(made({ kind: "fork", args: [77n] }), 0, bytes);
    expect(decode(brk(0x2000n, { pid: 77, epoch: 0 }), 0, bytes)?.old_addr).toBeNull();
  });
});
