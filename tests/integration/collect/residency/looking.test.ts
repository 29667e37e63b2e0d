import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { createLooking, type LookingSources } from "../../../../src/collect/ebpf/residency/looking.ts";
import { PIECE_BYTES } from "../../../../src/collect/ebpf/residency/pieces.ts";
import { countLooks, UNCOUNTED } from "../../../../src/kernel/looks.ts";
import { openPagemap } from "../../../../src/kernel/pagemap.ts";
import type { RowOf } from "../../../../src/schema/row.ts";
import { compileProgram } from "../../../fixtures/compile.ts";
import { lineReader } from "../../../fixtures/line-reader.ts";

type Row = RowOf<"residency">;

const PAGE = 4096n;
const MS = 1_000_000n;

/** A program that has touched every so many pages of the first half of its memory, and waits. */
async function sparse(mib: number, every: bigint) {
  const child = Bun.spawn([compileProgram("sparse-memory"), String(mib), String(every)], {
    stdin: "pipe",
    stdout: "pipe",
  });
  const addr = BigInt((await lineReader(child.stdout)()) ?? 0);
  const end = async (): Promise<void> => {
    child.kill("SIGKILL");
    await child.exited;
  };
  return { pid: child.pid, addr, size_bytes: BigInt(mib) << 20n, end, [Symbol.asyncDispose]: end };
}

/** A clock that goes on by 10 ms whenever it is read, so that a poll asks for one piece. */
function slowClock() {
  let now = 0n;
  return () => (now += 10n * MS);
}

/** All rows of the first look at one process. */
function wholeLook(pid: number, mappings: ReturnType<LookingSources["maps"]["mapsOf"]>, more: Partial<LookingSources>) {
  const maps = { pids: () => [pid], mapsOf: () => mappings };
  using looking = createLooking({ maps, look: UNCOUNTED, nowNs: slowClock(), ...more });
  const rows: Row[] = [];
  let polls = 0;
  while (looking.counts.whole === 0 && polls < 10_000) {
    rows.push(...looking.poll(10_000n * MS));
    polls += 1;
  }
  return { rows, polls, counts: looking.counts };
}

const bytesOf = (rows: readonly Row[], kinds: readonly string[], begin = 0n, end = 1n << 63n): number =>
  rows
    .filter(({ kind, addr }) => kinds.includes(kind) && addr < end)
    .map(({ addr, size_bytes }) => {
      const [first, last] = [addr > begin ? addr : begin, addr + size_bytes < end ? addr + size_bytes : end];
      return last > first ? Number(last - first) : 0;
    })
    .reduce((sum, bytes) => sum + bytes, 0);

test("a look finds exactly the pages that a program has touched", async () => {
  const every = 5n;
  await using program = await sparse(64, every);
  const looks = countLooks();
  const { rows, counts } = wholeLook(program.pid, [program], { look: looks.kind("looks") });
  expect(bytesOf(rows, ["looked"])).toBe(64 << 20);
  const pages = rows
    .filter(({ kind }) => kind !== "looked")
    .map(({ addr, size_bytes, kind }) => ({ addr, size_bytes, kind }));
  const half = program.size_bytes / 2n;
  const touched = Array.from({ length: Number((half / PAGE + every - 1n) / every) }, (_, i) => ({
    addr: program.addr + BigInt(i) * every * PAGE,
    size_bytes: PAGE,
    kind: "resident" as const,
  }));
  expect(pages).toEqual(touched);
  // Each question is a look that is charged; an answer has 1,024 runs at most, which here are not enough.
  expect(counts).toMatchObject({ whole: 1, rows: rows.length, late_rows: 0 });
  expect(counts.pieces).toBeGreaterThan(1);
  expect(looks.sums()).toMatchObject([{ what: "looks", count: counts.pieces, waits: false }]);
  for (const { timestamp_ns, end_ns } of rows) expect(end_ns).toBeGreaterThan(timestamp_ns);
});

/** Mappings with what the kernel says is resident of each, those left out that are its own. */
function smapsOf(pid: number) {
  const blocks = readFileSync(`/proc/${pid}/smaps`, "latin1").split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
  return blocks.flatMap((block) => {
    const range = /^([0-9a-f]+)-([0-9a-f]+) .*?(\S*)\n/.exec(block);
    const kib = (field: string): number => 1024 * Number(new RegExp(`^${field}: +(\\d+) kB`, "m").exec(block)?.[1]);
    const [begin, end] = [BigInt(`0x${range?.[1]}`), BigInt(`0x${range?.[2]}`)];
    if (range === null) return [];
    return [{ addr: begin, size_bytes: end - begin, rss: kib("Rss") }];
  });
}

test("of every mapping of a program a look finds what the kernel counts as its resident set, files and others", async () => {
  await using program = await sparse(64, 3n);
  let mappings = smapsOf(program.pid);
  let { rows } = wholeLook(program.pid, mappings, {});
  // It may still be on its way to where it waits: then it has touched a page since.
  for (let after = smapsOf(program.pid); !Bun.deepEquals(after, mappings); after = smapsOf(program.pid)) {
    mappings = after;
    ({ rows } = wholeLook(program.pid, mappings, {}));
  }
  const found = mappings.map(({ addr, size_bytes }) => ({
    addr,
    size_bytes,
    rss: bytesOf(rows, ["resident"], addr, addr + size_bytes),
  }));
  expect(found).toEqual(mappings);
});

test("a program that ends amid a look has no more rows: that nothing of it is in memory is not told", async () => {
  await using program = await sparse(256, 1n);
  const maps = { pids: () => [program.pid], mapsOf: () => [program] };
  using looking = createLooking({ maps, look: UNCOUNTED, nowNs: slowClock() });
  const first = looking.poll(10_000n * MS);
  expect(bytesOf(first, ["looked"])).toBe(64 << 20);
  expect(bytesOf(first, ["resident"])).toBe(64 << 20);
  await program.end();
  expect(looking.poll(10_000n * MS)).toEqual([]);
  expect(looking.counts).toMatchObject({ whole: 0, rows: first.length, given_up: { ended: 1 } });
  // The look is over, and the next one finds nobody.
  expect(looking.poll(10_000n * MS)).toEqual([]);
  expect(looking.poll(1_000_000n * MS)).toEqual([]);
  expect(looking.counts.given_up).toEqual({ ended: 2, denied: 0, scattered: 0, unreadable: 0, no_time_left: 0 });
});

test("a reservation of 30 GB is asked for a piece at a time, and no piece holds the lock for more than 64 MiB", async () => {
  const gib = 262_144n;
  await using program = await sparse(30 << 10, gib);
  const asked: bigint[] = [];
  const open = (pid: number) => {
    const pagemap = openPagemap(pid);
    if (pagemap === null) return null;
    const scan: typeof pagemap.scan = (addr, end) => {
      asked.push(end - addr);
      return pagemap.scan(addr, end);
    };
    return { ...pagemap, scan };
  };
  const { rows, polls, counts } = wholeLook(program.pid, [program], { open });
  expect(bytesOf(rows, ["looked"])).toBe(30 * 2 ** 30);
  expect(bytesOf(rows, ["resident"])).toBe(15 * Number(PAGE));
  expect(asked.filter((bytes) => bytes > PIECE_BYTES)).toEqual([]);
  expect([asked.length, counts.pieces, polls]).toEqual([480, 480, 480]);
});

test("a process that we may not see is given up as such, and one that is gone is not said to be hidden", () => {
  const maps = { pids: () => [1, 2], mapsOf: () => [{ addr: 4096n, size_bytes: 4096n }] };
  const open = (pid: number, denied: () => void) => {
    if (pid === 1) denied();
    return null;
  };
  using looking = createLooking({ maps, look: UNCOUNTED, nowNs: slowClock(), open });
  expect(looking.poll(10_000n * MS)).toEqual([]);
  expect(looking.counts).toMatchObject({ whole: 0, rows: 0, given_up: { denied: 1, ended: 1 } });
});
