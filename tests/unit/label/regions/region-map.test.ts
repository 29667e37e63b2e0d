import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { labelRun } from "../../../../src/label/label-run.ts";
import { CENSORED } from "../../../../src/label/regions/places.ts";
import { regionAt } from "../../../../src/label/regions/region-map.ts";
import { openDatabase } from "../../../../src/sql/database.ts";
import type { Given } from "../../../fixtures/row-with.ts";
import { ORIGIN, writeStream } from "../hand-made-run.ts";

const ids = { pid: 7, tid: 7 };
const [LOADER, WEIGHTS, HEAP] = [0x7f0000000000n, 0x7f1000000000n, 0x7f2000000000n];
const SIZE = 8192n;

/**
 * A loader that maps a file for a moment, the same file mapped for good with one tensor, and a heap where an operator finds weights later.
 * @param isSeen whether the header was read while the loader had it
 */
function writeRun(runDir: string, isSeen: boolean): void {
  const file = { flags: 2, path: "/m.safetensors", inode: 3n, dev: 1, file_offset_bytes: 0n };
  const call = (kind: "mmap" | "munmap", time: bigint, addr: bigint, more: Given<"mapping">): Given<"mapping"> => ({
    ...ids,
    ...{ kind, addr, result: kind === "mmap" ? addr : 0n, size_bytes: SIZE, prot: 3, exec_epoch: 0, ...more },
    timestamp_ns: ORIGIN + time,
  });
  writeStream(runDir, "mapping", [
    call("mmap", 0n, LOADER, file),
    call("mmap", 10n, WEIGHTS, file),
    call("munmap", 20n, LOADER, {}),
    call("mmap", 30n, HEAP, { flags: 0x22 }),
    call("mmap", 1000n, HEAP + 4n * SIZE, { flags: 0x22 }),
  ]);
  const mapping = { buffer: WEIGHTS, buffer_addr: WEIGHTS, buffer_size_bytes: SIZE };
  const tensor = { name: "a.weight", addr: WEIGHTS + 4096n, size_bytes: 4096n, region_type: "weight" } as const;
  const row = {
    ...ids,
    ...mapping,
    ...tensor,
    kind: "tensor",
    evidence: "file_header",
    engine: "safetensors",
  } as const;
  const ofLoader = { addr: LOADER + 4096n, buffer: LOADER, buffer_addr: LOADER, timestamp_ns: ORIGIN };
  const freed = {
    ...ids,
    kind: "free",
    addr: LOADER,
    size_bytes: SIZE,
    buffer: LOADER,
    evidence: "file_header",
  } as const;
  writeStream(runDir, "tensor", [
    ...(isSeen ? [{ ...row, ...ofLoader }] : []),
    { ...row, timestamp_ns: ORIGIN + 10n },
    ...(isSeen ? [{ ...freed, engine: "safetensors", timestamp_ns: ORIGIN + 20n } as const] : []),
  ]);
  const operand = { addr: HEAP, size_bytes: 4096n, buffer: HEAP, buffer_addr: HEAP, buffer_size_bytes: 4096n } as const;
  const used = {
    ...ids,
    ...operand,
    kind: "graph",
    region_type: "weight",
    evidence: "operand",
    engine: "PyTorch",
  } as const;
  writeStream(runDir, "tensor", [{ ...used, timestamp_ns: ORIGIN + 500n }], 1);
  const detail = '{"path":"/m.safetensors","tells_steps":false}';
  const step = { ...ids, kind: "engine", engine: "safetensors", timestamp_ns: ORIGIN + 10n, detail } as const;
  writeStream(runDir, "step", [step]);
}

test.each([
  ["not seen", false],
  ["seen", true],
])(
  "bytes of a mapped file are weights once, by its header, with a loader that was %s, and those of an operand by their use; neither tells anything of other memory",
  async (_, isSeen) => {
    const runDir = mkdtempSync(join(tmpdir(), "mrm-regions-"));
    try {
      writeRun(runDir, isSeen);
      await using database = await openDatabase();
      const { regions, engines, steps, timeline } = await labelRun(database, runDir, "run");
      const found = Array.from({ length: regions.count }, (_, row) => regionAt(regions, row));
      expect(found.map((region) => [region?.addr, region?.region_type, region?.evidence, region?.tensor])).toEqual([
        [LOADER, "runtime", "file", null],
        [WEIGHTS, "runtime", "file_header", null],
        [WEIGHTS + 4096n, "weight", "file_header", "a.weight"],
        [HEAP, "unknown", "mapping", null],
        [HEAP, "weight", "operand", null],
        [HEAP + 4096n, "unknown", "mapping", null],
        [HEAP + 4n * SIZE, "unknown", "mapping", null],
      ]);
      // The format is told of, and that no step came says nothing.
      expect(engines.map(({ name, objects }) => [name, objects])).toEqual([["safetensors", ["/m.safetensors"]]]);
      expect([steps.length, timeline.size]).toEqual([0, 0]);
    } finally {
      rmSync(runDir, { recursive: true });
    }
  },
);

test("memory that Python keeps its objects in is runtime from when it was mapped until it is given back, however late it was found", async () => {
  const runDir = mkdtempSync(join(tmpdir(), "mrm-regions-"));
  try {
    const call = (kind: "mmap" | "munmap", time: bigint, addr = HEAP, size_bytes = SIZE): Given<"mapping"> => ({
      ...{ ...ids, kind, addr, result: kind === "mmap" ? addr : 0n, size_bytes, prot: 3, flags: 0x22, exec_epoch: 0 },
      timestamp_ns: ORIGIN + time,
    });
    const later = call("mmap", 1000n, WEIGHTS);
    writeStream(runDir, "mapping", [
      call("mmap", 0n),
      call("munmap", 10n),
      call("mmap", 20n),
      call("munmap", 700n),
      later,
    ]);
    const place = { addr: HEAP, size_bytes: SIZE, buffer: HEAP, buffer_addr: HEAP, buffer_size_bytes: SIZE };
    const found = {
      ...ids,
      ...place,
      kind: "graph",
      name: "objects",
      evidence: "engine_objects",
      engine: "PyTorch",
    } as const;
    const gone = { ...found, kind: "free", timestamp_ns: ORIGIN + 900n } as const;
    writeStream(runDir, "tensor", [{ ...found, timestamp_ns: ORIGIN + 500n }, gone]);
    const detail = '{"path":"/libtorch_cpu.so","tells_tensors":false}';
    writeStream(runDir, "step", [{ ...ids, kind: "engine", engine: "PyTorch", timestamp_ns: ORIGIN, detail }]);
    await using database = await openDatabase();
    const { regions } = await labelRun(database, runDir, "run");
    const rows = Array.from({ length: regions.count }, (_, row) => regionAt(regions, row)).filter(
      (row) => row?.addr === HEAP,
    );
    const told = rows.map((row) => [row?.region_type, row?.birth_ns, row?.death_ns, row?.birth_censored]);
    expect(told.toSorted((one, other) => Number(one[1]) - Number(other[1]))).toEqual([
      ["unknown", 0, 10, false],
      ["runtime", 20, 700, false],
    ]);
  } finally {
    rmSync(runDir, { recursive: true });
  }
});

test("a file that a process has mapped twice is weights by name in both places, and its bytes are there once", async () => {
  const runDir = mkdtempSync(join(tmpdir(), "mrm-regions-"));
  try {
    const file = { prot: 1, flags: 2, path: "/m.safetensors", inode: 3n, dev: 1, file_offset_bytes: 0n };
    const places = [LOADER, WEIGHTS];
    const call = (addr: bigint, time: bigint, more: Given<"mapping">): Given<"mapping"> => ({
      ...{ ...ids, kind: "mmap", addr, result: addr, size_bytes: SIZE, exec_epoch: 0, ...more },
      timestamp_ns: ORIGIN + time,
    });
    const mapped = places.map((addr, i) => call(addr, BigInt(10 * i), file));
    writeStream(runDir, "mapping", [...mapped, call(HEAP, 1000n, { flags: 0x22 })]);
    const tensor = { kind: "tensor", name: "a.weight", size_bytes: 4096n, region_type: "weight" } as const;
    writeStream(
      runDir,
      "tensor",
      places.map((buffer, i) => ({
        ...{ ...ids, ...tensor, evidence: "file_header", engine: "safetensors", addr: buffer + 4096n },
        ...{ buffer, buffer_addr: buffer, buffer_size_bytes: SIZE, timestamp_ns: ORIGIN + BigInt(10 * i) },
      })),
    );
    await using database = await openDatabase();
    const { regions } = await labelRun(database, runDir, "run");
    const found = Array.from({ length: regions.count }, (_, row) => regionAt(regions, row));
    const named = found.filter((region) => region?.tensor === "a.weight");
    expect(named.map((region) => [region?.addr, region?.region_type, region?.is_twin])).toEqual([
      [LOADER + 4096n, "weight", false],
      [WEIGHTS + 4096n, "weight", true],
    ]);
  } finally {
    rmSync(runDir, { recursive: true });
  }
});

test("what a call moved to another address was not freed, be it a mapping or a tensor in it", async () => {
  const runDir = mkdtempSync(join(tmpdir(), "mrm-regions-"));
  try {
    const at = (time: bigint) => ({ ...ids, exec_epoch: 0, timestamp_ns: ORIGIN + time });
    const mapped = { kind: "mmap", addr: HEAP, result: HEAP, size_bytes: 2n * SIZE, prot: 3, flags: 0x22 } as const;
    const grown = { kind: "mremap", addr: WEIGHTS, result: WEIGHTS, size_bytes: 3n * SIZE, flags: 1 } as const;
    const later = { ...mapped, addr: LOADER, result: LOADER } as const;
    writeStream(runDir, "mapping", [
      { ...at(0n), ...mapped },
      { ...at(500n), ...grown, old_addr: HEAP, old_size_bytes: 2n * SIZE },
      { ...at(1000n), ...later },
    ]);
    const place = { addr: HEAP, size_bytes: SIZE, buffer: HEAP, buffer_addr: HEAP, buffer_size_bytes: SIZE };
    const used = { ...place, kind: "graph", region_type: "weight", evidence: "operand", engine: "PyTorch" } as const;
    writeStream(runDir, "tensor", [{ ...ids, ...used, timestamp_ns: ORIGIN + 100n }]);
    await using database = await openDatabase();
    const { regions } = await labelRun(database, runDir, "run");
    const found = Array.from({ length: regions.count }, (_, row) => {
      const bits = regions.censored[row] as number;
      const [has_come, has_left] = [(bits & CENSORED.came) !== 0, (bits & CENSORED.left) !== 0];
      const { addr, region_type, birth_ns } = regionAt(regions, row) ?? {};
      return [addr, region_type, birth_ns, has_come, has_left];
    });
    expect(found).toEqual([
      [LOADER, "unknown", 1000, false, false],
      [WEIGHTS, "unknown", 500, true, false],
      [WEIGHTS + 2n * SIZE, "unknown", 500, false, false],
      // Before the graph that tells of the tensor nothing is known of what lay there; then the mapping moves with it.
      [HEAP, "unknown", 0, false, false],
      [HEAP, "weight", 100, false, true],
      [HEAP + SIZE, "unknown", 0, false, true],
    ]);
    // What is left beside a tensor began when that ended, at whichever address.
    expect([...regions.movedBirths]).toEqual([]);
  } finally {
    rmSync(runDir, { recursive: true });
  }
});
