import { expect, test } from "bun:test";
import { fileStays } from "../../../../../src/collect/ebpf/engine/file-stays.ts";

const SECOND = 1_000_000_000n;
const PATH = "/m/model.safetensors";

test("a file that its process held for less time than it went on without it was copied", () => {
  const stays = fileStays();
  stays.mapped(1, PATH, SECOND);
  stays.unmapped(1, PATH, 2n * SECOND);
  expect(stays.copies((5n * SECOND) / 2n)).toEqual([]);
  expect(stays.copies(12n * SECOND)).toEqual([
    `${PATH} was mapped for 1.00 s, and its process went on for 10.0 s without it: its tensors were copied, and which of them lies where is not identifiable`,
  ]);
});

test("a file that is let go of as the process ends was not copied, however long the run goes on", () => {
  const stays = fileStays();
  stays.mapped(1, PATH, 0n);
  stays.unmapped(1, PATH, 9n * SECOND);
  stays.ended(1, 10n * SECOND);
  expect(stays.copies(100n * SECOND)).toEqual([]);
});

test("a file that is mapped twice is held until both are gone, and each process for itself", () => {
  const stays = fileStays();
  stays.mapped(1, PATH, 0n);
  stays.mapped(1, PATH, 1n);
  stays.mapped(11, PATH, 0n);
  stays.unmapped(1, PATH, 2n);
  stays.unmapped(11, PATH, 2n);
  expect(stays.copies(SECOND)).toHaveLength(1);
  stays.unmapped(1, PATH, 3n);
  stays.unmapped(1, PATH, 4n);
  expect(stays.copies(SECOND)).toHaveLength(2);
  stays.ended(11, 3n);
  expect(stays.copies(SECOND)).toHaveLength(1);
});
