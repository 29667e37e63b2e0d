import { expect, test } from "bun:test";
import { writerStop } from "../../../../src/collect/memray/writer-stop.ts";

const header = (nRecords: number, ms: number) => ({ nRecords, startMs: 1_000_000, endMs: 1_000_000 + ms });
const every10 = (until_ms: number) => ({ records: until_ms / 10, last_ms: until_ms });

test("a capture of which the writer counted what it wrote, to its end, is whole", () => {
  expect(writerStop(header(485_969, 984), 485_969, every10(980))).toBeNull();
  expect(writerStop(header(3, 12), 3, { records: 0, last_ms: 0 })).toBeNull();
});

test("a record that was counted and is not there says that the writer stopped", () => {
  expect(writerStop(header(485_969, 300), 485_968, every10(290))).toContain("counted 485969");
});

test("an end without memory records says that the writer may have stopped", () => {
  expect(writerStop(header(9, 984), 9, every10(400))).toContain("its last 584 ms");
});

test("a busy machine, or a longer period, does not say so", () => {
  expect(writerStop(header(9, 984), 9, every10(800))).toBeNull();
  expect(writerStop(header(9, 9_900), 9, { records: 9, last_ms: 9_000 })).toBeNull();
});
