import { expect, test } from "bun:test";
import { secondLook } from "../../../../../src/collect/ebpf/lifecycle/second-look.ts";
import { createProcessTree } from "../../../../../src/target/process-tree.ts";

const SECOND = 1_000_000_000n;

/** No process has a number so large. */
const GONE = 2 ** 30;

test("who is not in /proc has ended", () => {
  const tree = createProcessTree();
  for (const pid of [process.pid, process.ppid, GONE]) tree.begin(pid);
  expect([...secondLook(tree).ended(SECOND)]).toEqual([GONE]);
});

test("a look is due once a second", () => {
  const look = secondLook(createProcessTree());
  expect(look.isDue(5n * SECOND)).toBe(true);
  look.ended(5n * SECOND);
  expect([look.isDue(6n * SECOND - 1n), look.isDue(6n * SECOND)]).toEqual([false, true]);
});

test("of a large tree every process is asked about within a few looks", () => {
  const tree = createProcessTree();
  for (let i = 0; i < 200; i++) tree.begin(GONE + i);
  const look = secondLook(tree);
  const found = new Set<number>();
  let looks = 0;
  while (found.size < 200 && looks < 10) for (const pid of look.ended(BigInt(++looks) * SECOND)) found.add(pid);
  expect([found.size, looks]).toEqual([200, 4]);
});
