import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ALLOCATORS } from "../../../../src/collect/memray/format/allocator.ts";
import { bytesOf } from "../../../../src/collect/memray/format/byte-source.ts";
import { lz4Content } from "../../../../src/collect/memray/format/lz4-frame.ts";
import { MEMRAY_VERSIONS, memrayPython, python } from "../../../fixtures/memray-environment.ts";
import { type ReadAll, type Row, readAll } from "../../../fixtures/read-allocations.ts";

/** Threads, arrays, mappings and parts of mappings that are unmapped, small objects: what allocators are asked for. */
const PROGRAM = `
import ctypes, mmap, threading, time
import numpy
def churn(n):
    kept = []
    for i in range(n):
        kept.append(bytearray(600 + i % 2000))
        if i % 3 == 0: kept.pop(0)
    return kept
def arrays():
    a = numpy.ones(1 << 17)
    return float((a * 2).sum())
def maps():
    m = mmap.mmap(-1, 1 << 20)
    k = mmap.mmap(-1, 1 << 16)
    m.close()
    return k
kept = churn(1500)
workers = [threading.Thread(target=churn, args=(800,), name=f"worker-{i}") for i in range(2)]
[w.start() for w in workers]; [w.join() for w in workers]
for i in range(4): arrays(); time.sleep(0.02)
region = maps()
`;

/** Little but small objects, so that few records come of tracing every one of them. */
const SMALL_PROGRAM = `
import mmap
kept = [[i] for i in range(5000)]
table = {i: (i, str(i)) for i in range(2000)}
del kept
region = mmap.mmap(-1, 1 << 20)
region.close()
`;

/** What memray's own reader says of a capture: a line for each allocation, and its statistics beside it. */
const ORACLE = `
import hashlib, json, sys, memray
from memray._memray import compute_statistics
path, out = sys.argv[1:]
reader = memray.FileReader(path)
frees = {memray.AllocatorType.FREE, memray.AllocatorType.MUNMAP, memray.AllocatorType.PYMALLOC_FREE}
known = {}
with open(out, "w") as lines:
    for i, r in enumerate(reader.get_allocation_records()):
        if memray.AllocatorType(r.allocator) in frees: continue
        if r.stack_id not in known:
            stack = ";".join(f"{f}|{p}|{l}" for f, p, l in r.stack_trace())
            known[r.stack_id] = hashlib.md5(stack.encode()).hexdigest()[:12]
        name = memray.AllocatorType(r.allocator).name.lower()
        lines.write(f"{i} {name} {r.address:x} {r.size} {r.tid} {known[r.stack_id]}\\n")
`;

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mrm-memray-"));
  writeFileSync(join(folder, "program.py"), PROGRAM);
  writeFileSync(join(folder, "small.py"), SMALL_PROGRAM);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Version = (typeof MEMRAY_VERSIONS)[number];

async function capture(version: Version, name: string, flags: string[], program = "program.py"): Promise<string> {
  const file = join(folder, `${version}-${name}.bin`);
  await python(memrayPython(version), ["-m", "memray", "run", "-q", "-f", ...flags, "-o", file, program], folder);
  return file;
}

async function statistics(version: Version, file: string) {
  await python(memrayPython(version), ["-m", "memray", "stats", "--json", "-f", "-o", `${file}.json`, file], folder);
  return JSON.parse(readFileSync(`${file}.json`, "utf8"));
}

/** Totals in the words of `memray stats`. */
function totalsOf({ summary: { totals } }: ReadAll) {
  const functions = ALLOCATORS.map((name, i) => [name.toUpperCase(), totals.byAllocator[i]?.allocations ?? 0] as const);
  return {
    total_num_allocations: totals.allocations,
    total_bytes_allocated: totals.allocatedBytes,
    allocator_type_distribution: Object.fromEntries(functions.filter(([, n]) => n > 0)),
    peak: totals.peakBytes,
  };
}

/** The stacks of a capture as the oracle prints them, memray's own frames left out. */
function stackNames({ header, tables }: ReadAll): (row: Row) => string {
  const nodes = new Map(tables.allocation_stack?.filter(({ kind }) => kind === "python").map((n) => [n.stack_id, n]));
  const known = new Map<string, string>();
  return ({ stack_id, thread }) => {
    const key = `${stack_id} ${thread}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    const frames: string[] = [];
    for (let node = nodes.get(stack_id ?? 0); node; node = nodes.get(node.parent_id ?? 0)) {
      frames.push(`${node.function}|${node.file}|${node.line ?? 0}`);
    }
    if (thread === header.mainThread) frames.length = Math.max(0, frames.length - header.ownFrames);
    const name = createHash("md5").update(frames.join(";")).digest("hex").slice(0, 12);
    known.set(key, name);
    return name;
  };
}

for (const [i, version] of MEMRAY_VERSIONS.entries()) {
  describe(`captures of memray ${version}`, () => {
    test("hold the allocations that its own reader finds, with addresses, sizes, threads and stacks", async () => {
      const file = await capture(version, "plain", []);
      const read = readAll(file);
      expect(read.header.version).toBe(11 + i);
      expect(read.summary).toMatchObject({ complete: true, problem: null });
      expect(read.summary.totals.records).toBe(read.header.nRecords);
      await python(memrayPython(version), ["-c", ORACLE, file, `${file}.txt`], folder);
      const stack = stackNames(read);
      const births = new Map<bigint, string>();
      for (const row of read.tables.allocation ?? []) {
        const { birth_order, allocator, addr, thread } = row;
        const line = `${birth_order} ${allocator} ${BigInt(addr ?? 0).toString(16)} ${row.size_bytes} ${thread} ${stack(row)}`;
        births.set(BigInt(birth_order ?? 0), line);
      }
      const ours = [...births].sort(([a], [b]) => Number(a - b)).map(([, line]) => line);
      const theirs = readFileSync(`${file}.txt`, "utf8").trim().split("\n");
      expect(ours.length).toBe(theirs.length);
      expect(ours.filter((line, n) => line !== theirs[n]).slice(0, 3)).toEqual([]);
      expect(read.tables.allocation?.some(({ thread_name }) => thread_name === "worker-0")).toBe(true);
    });

    test("have the totals and the peak that its statistics say, compressed, native and of small objects", async () => {
      const kinds = { raw: ["--no-compress"], small: ["--native", "--trace-python-allocators"] };
      for (const [name, flags] of Object.entries(kinds)) {
        const file = await capture(version, name, flags, name === "small" ? "small.py" : "program.py");
        const read = readAll(file);
        const { total_num_allocations, total_bytes_allocated, allocator_type_distribution, metadata } =
          await statistics(version, file);
        const theirs = { total_num_allocations, total_bytes_allocated, allocator_type_distribution };
        expect(totalsOf(read)).toEqual({ ...theirs, peak: metadata.peak_memory });
        const rows = read.tables.allocation_total ?? [];
        expect(rows.find(({ allocator }) => allocator === "all")).toMatchObject({
          allocations: BigInt(total_num_allocations),
          allocated_bytes: BigInt(total_bytes_allocated),
          peak_bytes: BigInt(metadata.peak_memory),
        });
        const byFunction = rows.filter(({ allocator }) => allocator !== "all");
        const named = byFunction.map((row) => [String(row.allocator).toUpperCase(), Number(row.allocations)]);
        expect(Object.fromEntries(named)).toEqual(allocator_type_distribution);
        const living = byFunction.reduce((sum, { live_bytes }) => sum + Number(live_bytes), 0);
        expect(living).toBe(read.summary.totals.liveBytes);
        expect(read.summary.unmatchedPops).toBe(0);
        expect(read.header.nativeTraces).toBe(name === "small");
        const natives = read.tables.allocation_stack?.filter(({ kind }) => kind === "native") ?? [];
        expect(natives.length > 100).toBe(name === "small");
        const inObjects = natives.filter(({ file: object }) => object !== null).length;
        expect(inObjects).toBeGreaterThanOrEqual(natives.length * 0.99);
      }
    });

    test("hold, when aggregated, the sums of the peak and of what was left", async () => {
      const file = await capture(version, "aggregated", ["--aggregate"]);
      const { header, summary, tables } = readAll(file);
      expect(header.aggregated).toBe(true);
      expect(summary).toMatchObject({ complete: true, problem: null });
      const script = `
import json, sys, memray
r = memray.FileReader(sys.argv[1])
peak = list(r.get_high_watermark_allocation_records(merge_threads=False))
left = list(r.get_leaked_allocation_records(merge_threads=False))
print(json.dumps([sum(x.size for x in peak), sum(x.size for x in left), len(list(r.get_memory_snapshots()))]))`;
      const said = JSON.parse(await python(memrayPython(version), ["-c", script, file], folder));
      // Not the numbers of allocations: memray counts records that it merges as one allocation each.
      expect(tables.allocation_total).toMatchObject([
        { allocator: "all", peak_bytes: BigInt(said[0]), allocations: null },
      ]);
      expect([summary.sites.peakBytes, summary.sites.leakedBytes, tables.allocation_memory?.length ?? 0]).toEqual(said);
      const plain = readAll(join(folder, `${version}-plain.bin`)).summary.totals;
      const more = summary.sites.leakedAllocations / plain.liveAllocations;
      expect(more).toBeGreaterThan(0.9);
      expect(more).toBeLessThan(1.1);
      const named = tables.allocation_stack?.filter((row) => row.function !== null && row.line !== null) ?? [];
      expect(named.length).toBeGreaterThan((tables.allocation_stack?.length ?? 0) * 0.9);
    });
  });
}

describe("LZ4 frames that a native library wrote", () => {
  test("give the bytes that went in, whatever the blocks", async () => {
    const script = `
import os, random, sys, lz4.frame
random.seed(7)
def part(n): return b"".join(random.choice([os.urandom(50), b"abcabcabc" * random.randrange(1, 900), bytes(random.randrange(1, 70000))]) for _ in range(n))
for k in range(12):
    data = part(k * 3)
    options = dict(block_size=4 + k % 4, block_linked=k % 3 != 0, block_checksum=k % 2 == 0, content_checksum=k % 5 == 0, compression_level=[0, 9, -3][k % 3], store_size=k % 4 == 1)
    open(f"{sys.argv[1]}/{k}.data", "wb").write(data * 2)
    open(f"{sys.argv[1]}/{k}.lz4", "wb").write(lz4.frame.compress(data, **options) + b"\\x53\\x2a\\x4d\\x18\\x03\\x00\\x00\\x00abc" + lz4.frame.compress(data))`;
    await python(memrayPython("1.20.0"), ["-c", script, folder], folder);
    for (let k = 0; k < 12; k++) {
      const source = lz4Content(bytesOf(readFileSync(join(folder, `${k}.lz4`))));
      const got: Buffer[] = [];
      const part = new Uint8Array(33_333);
      for (let n = source.read(part, 0); n > 0; n = source.read(part, 0)) got.push(Buffer.from(part.slice(0, n)));
      expect(source.problem).toBeNull();
      expect(Buffer.concat(got).equals(readFileSync(join(folder, `${k}.data`)))).toBe(true);
    }
  });
});
