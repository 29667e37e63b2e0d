import { describe, expect, test } from "bun:test";
import { createProcessMaps } from "../../../src/regions/mapping-events.ts";
import { mappingAt } from "../../fixtures/found-regions.ts";
import { mappingRow, mmap, mprotect, mremap, munmap, page } from "../../fixtures/mapping-rows.ts";
import { recordedMaps } from "../../fixtures/recorded-maps.ts";

const places = (maps: ReturnType<typeof createProcessMaps>, pid = 100) =>
  maps.mapsOf(pid).map((row) => [Number(row.addr / 4096n), Number(row.size_bytes / 4096n), row.prot]);
const seen = (from: number, pages: number, fields = {}) =>
  mappingRow("snapshot", 0, { addr: page(from), size_bytes: page(pages), prot: 3, flags: 2, inode: 0n, ...fields });
const stack = (time: number, from: number, pages: number) =>
  mappingRow("file", time, {
    addr: page(from),
    size_bytes: page(pages),
    prot: 3,
    flags: 2,
    path: "[stack]",
    inode: 0n,
    dev: 0,
  });

describe("rows that come late", () => {
  test("an unmapping does not take what another thread was given while it ran", () => {
    const maps = createProcessMaps();
    maps.apply(mmap(1, 10, 4));
    maps.apply(mmap(8, 10, 4, 1));
    maps.apply(munmap(5, 10, 4, { begin_ns: 5n, end_ns: 9n }));
    expect(places(maps)).toEqual([[10, 4, 1]]);
  });

  test.each([
    ["came before", true],
    ["came after", false],
  ])(
    "a file that another thread mapped and unmapped while a call waited names no private anonymous memory: its name %s",
    (_, isFirst) => {
      const maps = createProcessMaps();
      const name = () =>
        maps.apply(
          mappingRow("file", 3, { addr: page(10), size_bytes: page(4), prot: 3, flags: 2, inode: 7n, path: "/lib/a" }),
        );
      if (isFirst) name();
      maps.apply(mmap(9, 10, 4, 3, { begin_ns: 1n, end_ns: 9n, flags: 0x22 }));
      if (!isFirst) name();
      expect(maps.mapsOf(100).map(({ inode, path }) => [inode, path])).toEqual([[null, null]]);
    },
  );

  test("a move that was overtaken keeps the birth of what it moved", () => {
    const maps = recordedMaps();
    maps.apply(mmap(1, 10, 4, 1));
    maps.apply(mmap(18, 10, 4, 3));
    maps.apply(mremap(20, 10, 4, 50, 4, { begin_ns: 10n, end_ns: 20n }));
    expect(places(maps)).toEqual([
      [10, 4, 3],
      [50, 4, 1],
    ]);
    expect(mappingAt(maps.mapsOf(100), page(50))?.birth_ns).toBe(1n);
    expect(
      maps
        .lifetimes()
        .filter((row) => row.death_ns !== null)
        .map((row) => row.ended_by),
    ).toEqual(["moved"]);
  });

  test("a move takes along what a later look found taken by another mapping", () => {
    const maps = createProcessMaps();
    maps.apply(mappingRow("snapshot_begin", 100));
    maps.apply(seen(10, 4, { timestamp_ns: 100n }));
    maps.apply(seen(14, 3, { timestamp_ns: 100n, flags: 1, inode: 7n }));
    maps.apply(seen(17, 3, { timestamp_ns: 100n }));
    maps.apply(seen(50, 9, { timestamp_ns: 100n }));
    maps.apply(mappingRow("snapshot_end", 101));
    maps.apply(mmap(2, 10, 10, 3, { begin_ns: 1n, end_ns: 2n }));
    maps.apply(mremap(4, 10, 10, 50, 9, { begin_ns: 3n, end_ns: 4n, flags: 3 }));
    maps.apply(mmap(6, 10, 4, 3, { begin_ns: 5n, end_ns: 6n }));
    expect(places(maps).at(-1)).toEqual([50, 9, 3]);
    expect(mappingAt(maps.mapsOf(100), page(55))?.birth_ns).toBe(2n);
  });

  test("what a parent did just before a fork, and that is told after it, leaves the copy to a look", () => {
    const maps = createProcessMaps();
    maps.apply(mmap(1, 10, 4));
    maps.apply(mappingRow("fork", 10, { child_pid: 200 }));
    expect(maps.pidsNeedingSnapshot()).toEqual([]);
    maps.apply(mprotect(8, 10, 4, 1));
    expect(maps.pidsNeedingSnapshot()).toEqual([200]);
  });

  test("a parent's unmapping that is older than the fork is taken from the child too", () => {
    const maps = createProcessMaps();
    maps.apply(mmap(1, 10, 4));
    maps.apply(mappingRow("fork", 10, { child_pid: 200 }));
    maps.apply(munmap(5, 10, 2));
    maps.apply(munmap(20, 13, 1));
    expect([places(maps), places(maps, 200)]).toEqual([[[12, 1, 3]], [[12, 2, 3]]]);
  });
});

describe("snapshots", () => {
  test("begin censored what nothing told of, end what is absent, keep what is newer", () => {
    const maps = recordedMaps();
    maps.apply(mmap(1, 10, 2));
    maps.apply(mmap(50, 30, 2));
    maps.apply(mappingRow("snapshot_begin", 40));
    maps.apply(seen(20, 3));
    maps.apply(mappingRow("snapshot_end", 60));
    expect(places(maps)).toEqual([
      [20, 3, 3],
      [30, 2, 3],
    ]);
    expect(mappingAt(maps.mapsOf(100), page(20))?.birth_censored).toBe(true);
    expect(mappingAt(maps.mapsOf(100), page(30))?.birth_censored).toBe(false);
    expect(mappingAt(maps.lifetimes(), page(10))?.ended_by).toBe("snapshot");
  });

  test("that broke off end nothing", () => {
    const maps = createProcessMaps();
    maps.apply(mmap(1, 10, 2));
    maps.apply(mappingRow("snapshot_begin", 40));
    maps.apply(mappingRow("snapshot_end", 60, { result: -3n }));
    expect(places(maps)).toEqual([[10, 2, 3]]);
  });

  test("give what exec mapped the birth of the exec", () => {
    const maps = createProcessMaps();
    maps.apply(mappingRow("exec", 30, { exec_epoch: 1 }));
    maps.apply(mappingRow("snapshot_begin", 40, { exec_epoch: 1 }));
    maps.apply(seen(20, 3));
    maps.apply(mappingRow("snapshot_end", 41));
    const row = mappingAt(maps.mapsOf(100), page(20));
    expect([row?.birth_ns, row?.birth_censored, row?.exec_epoch]).toEqual([30n, false, 1]);
  });
});

describe("calls that the kernel refuses", () => {
  test("change nothing, are counted, and ask for a snapshot where they may have been applied in part", () => {
    const maps = createProcessMaps();
    maps.apply(mmap(1, 10, 2));
    maps.apply(munmap(2, 10, 2, { result: -22n }));
    expect(maps.pidsNeedingSnapshot()).toEqual([]);
    maps.apply(mprotect(3, 10, 2, 1, { result: -12n }));
    expect([places(maps), maps.counters.failed_calls]).toEqual([[[10, 2, 3]], 2]);
    expect(maps.pidsNeedingSnapshot()).toEqual([100]);
  });
});

describe("processes", () => {
  test("a child gets a copy without what fork must not copy, and exec and exit end all", () => {
    const maps = recordedMaps();
    maps.apply(mmap(1, 10, 4));
    maps.apply(mappingRow("madvise", 2, { addr: page(11), size_bytes: page(1), flags: 10 }));
    maps.apply(mappingRow("fork", 10, { child_pid: 200 }));
    expect(places(maps, 200)).toEqual([
      [10, 1, 3],
      [12, 2, 3],
    ]);
    maps.apply(mappingRow("exec", 20, { pid: 200, exec_epoch: 1 }));
    maps.apply(mappingRow("exit", 30));
    expect([places(maps), places(maps, 200), maps.pids()]).toEqual([[], [], [200]]);
    const ends = maps.lifetimes().map((row) => [row.pid, row.birth_ns, row.death_ns, row.ended_by]);
    expect(ends).toContainEqual([200, 10n, 20n, "exec"]);
    expect(ends).toContainEqual([100, 1n, 30n, "exit"]);
  });

  test("a vfork child shares the address space until its exec", () => {
    const maps = createProcessMaps();
    maps.apply(mappingRow("fork", 10, { child_pid: 200, flags: 0x4100 }));
    maps.apply(mmap(11, 10, 1, 3, { pid: 200 }));
    maps.apply(mappingRow("exec", 20, { pid: 200, exec_epoch: 1 }));
    expect([places(maps), places(maps, 200)]).toEqual([[[10, 1, 3]], []]);
  });

  describe("a child that lives in the memory of its parent", () => {
    const lent = (pid: number, time = 10, parent = 100) =>
      mappingRow("fork", time, { pid: parent, child_pid: pid, flags: 0x100 });
    const started = () => {
      const maps = recordedMaps();
      maps.apply(mmap(1, 10, 4));
      return maps;
    };
    const stays = (maps: ReturnType<typeof recordedMaps>) =>
      maps.lifetimes().map((row) => [row.pid, Number(row.addr / 4096n), row.birth_ns, row.ended_by]);

    test("has no mappings of its own, and what it maps, unmaps and misses is its parent's", () => {
      const maps = started();
      maps.apply(lent(200));
      maps.apply(lent(300, 11, 200));
      maps.apply(mmap(12, 20, 1, 3, { pid: 300 }));
      maps.apply(munmap(13, 10, 1, { pid: 200 }));
      maps.apply(mprotect(14, 90, 1, 1, { pid: 200 }));
      expect([200, 300].map((pid) => places(maps, pid))).toEqual([[], []]);
      expect(places(maps)).toEqual([
        [11, 3, 3],
        [20, 1, 3],
      ]);
      expect(maps.pidsNeedingSnapshot()).toEqual([100]);
      maps.apply(mappingRow("exit", 20, { pid: 300 }));
      maps.apply(mappingRow("exit", 21, { pid: 200 }));
      expect(stays(maps)).toEqual([
        [100, 10, 1n, "munmap"],
        [100, 11, 1n, null],
        [100, 20, 12n, null],
      ]);
    });

    test("leaves its parent nothing of the program that its exec maps", () => {
      const maps = started();
      const name = (time: number, from: number, path: string, inode: bigint) =>
        mappingRow("file", time, { pid: 200, addr: page(from), size_bytes: page(2), prot: 3, flags: 2, path, inode });
      maps.apply(lent(200));
      maps.apply(name(12, 90, "[stack]", 0n));
      maps.apply(name(13, 50, "/bin/true", 7n));
      expect(places(maps)).toEqual([[10, 4, 3]]);
      maps.apply(mappingRow("exec", 20, { pid: 200, exec_epoch: 1 }));
      expect(places(maps)).toEqual([[10, 4, 3]]);
      expect(maps.mapsOf(200).map(({ path, birth_ns }) => [path, birth_ns])).toEqual([
        ["/bin/true", 20n],
        ["[stack]", 20n],
      ]);
    });

    test("names the file that it maps there", () => {
      const maps = started();
      const fields = { pid: 200, flags: 2, file_offset_bytes: 0n };
      const call = mmap(14, 20, 2, 1, { ...fields, begin_ns: 12n, end_ns: 14n });
      const name = { ...fields, addr: page(20), size_bytes: page(2), prot: 1, path: "/m", inode: 7n };
      maps.apply(lent(200));
      maps.apply(mappingRow("file", 13, name));
      maps.apply(call);
      expect(maps.mapsOf(100).map(({ path }) => path)).toEqual([null, "/m"]);
    });

    test.each([
      ["ends", "exit"],
      ["makes an exec", "exec"],
    ] as const)("has that memory alone where its parent %s", (_, kind) => {
      const maps = started();
      maps.apply(lent(200));
      maps.apply(lent(300));
      maps.apply(mappingRow(kind, 20, { exec_epoch: kind === "exec" ? 1 : 0 }));
      expect([100, 200, 300].map((pid) => places(maps, pid))).toEqual([[], [[10, 4, 3]], []]);
      maps.apply(mappingRow("exit", 30, { pid: 300 }));
      maps.apply(mappingRow("exec", 31, { pid: 200, exec_epoch: 1 }));
      maps.apply(mmap(32, 40, 1, 3, { pid: 200, exec_epoch: 1 }));
      expect(stays(maps)).toEqual([
        [100, 10, 1n, kind],
        [200, 10, 20n, "exec"],
        [200, 40, 32n, null],
      ]);
    });
  });
});

describe("names and stacks", () => {
  const file = { flags: 2, file_offset_bytes: page(3) };
  const name = mappingRow("file", 6, {
    addr: page(10),
    size_bytes: page(4),
    prot: 1,
    inode: 7n,
    path: "/m.gguf",
    ...file,
  });
  for (const first of ["name", "call"]) {
    test(`a file is known by its name when the ${first} comes first`, () => {
      const maps = recordedMaps();
      const call = mmap(8, 10, 4, 1, { ...file, begin_ns: 5n, end_ns: 8n });
      for (const row of first === "name" ? [name, call] : [call, name]) maps.apply(row);
      const [row, ...others] = maps.lifetimes();
      expect(others).toEqual([]);
      expect([row?.path, row?.inode, row?.mapping_kind, row?.birth_ns]).toEqual(["/m.gguf", 7n, "file", 8n]);
      expect(row?.file_offset_bytes).toBe(page(3));
    });
  }

  test("a file is known by its name when that comes after its mapping has moved, or has gone", () => {
    const maps = recordedMaps();
    maps.apply(mmap(8, 10, 4, 1, { ...file, begin_ns: 5n, end_ns: 8n }));
    maps.apply(mremap(12, 10, 4, 50, 4, { begin_ns: 11n, end_ns: 12n }));
    maps.apply(munmap(15, 50, 1));
    maps.apply(name);
    expect(maps.lifetimes().map(({ addr, path, inode }) => [addr, path, inode])).toEqual([
      [page(10), "/m.gguf", 7n],
      [page(50), "/m.gguf", 7n],
      [page(51), "/m.gguf", 7n],
    ]);
  });

  test("a stack begins with the exec that made it, and grows as perf tells, over nothing else", () => {
    const maps = recordedMaps();
    // The kernel tells of the new stack before its exec returns.
    maps.apply(stack(3, 100, 4));
    maps.apply(mappingRow("exec", 5));
    maps.apply(stack(7, 98, 6));
    maps.apply(stack(8, 97, 7));
    expect(places(maps)).toEqual([[97, 7, 3]]);
    const alive = maps.lifetimes().filter(({ death_ns }) => death_ns === null);
    expect(alive.map(({ mapping_kind, path, since_ns }) => [mapping_kind, path, since_ns])).toEqual([
      ["stack", "[stack]", 5n],
    ]);
  });

  test("a stack that grew after a look began is not ended by it, and its pages are there once", () => {
    const maps = recordedMaps();
    maps.apply(mappingRow("exec", 5));
    maps.apply(stack(6, 100, 4));
    maps.apply(mappingRow("snapshot_begin", 10));
    maps.apply(seen(98, 6, { timestamp_ns: 10n, path: "[stack]" }));
    // Pages 96 and 97 were not there when we looked.
    maps.apply(stack(11, 96, 8));
    maps.apply(mappingRow("snapshot_end", 12));
    maps.apply(stack(13, 95, 9));
    expect(places(maps)).toEqual([[95, 9, 3]]);
    maps.apply(mappingRow("exit", 20));
    const stays = maps
      .lifetimes()
      .map(({ addr, size_bytes, birth_ns, death_ns }) => [addr, size_bytes, birth_ns, death_ns]);
    expect(stays).toEqual([[page(95), page(9), 5n, 20n]]);
  });

  test("a stack that lost its lower pages in a call that was not recorded has lost them for the next look", () => {
    const maps = recordedMaps();
    maps.apply(mappingRow("exec", 5));
    maps.apply(stack(6, 100, 4));
    maps.apply(stack(8, 96, 8));
    maps.apply(mappingRow("snapshot_begin", 10));
    maps.apply(seen(102, 2, { timestamp_ns: 10n, path: "[stack]" }));
    maps.apply(mappingRow("snapshot_end", 12));
    expect(places(maps)).toEqual([[102, 2, 3]]);
  });
});

describe("a process whose records were lost", () => {
  const lost = (time: number) => mappingRow("lost", time, { begin_ns: BigInt(time - 2), end_ns: BigInt(time) });
  const look = (time: number, from: number, pages: number) => [
    mappingRow("snapshot_begin", time),
    seen(from, pages, { timestamp_ns: BigInt(time) }),
    mappingRow("snapshot_end", time + 1),
  ];

  test("is in doubt until its map is looked at, or its program replaced", () => {
    const maps = createProcessMaps();
    maps.apply(mappingRow("exec", 1, { exec_epoch: 1 }));
    maps.apply(mmap(2, 10, 4));
    expect(maps.isDoubted(100)).toBe(false);
    maps.apply(lost(5));
    expect([maps.isDoubted(100), maps.isDoubted(200)]).toEqual([true, false]);
    for (const row of look(7, 10, 4)) maps.apply(row);
    expect(maps.isDoubted(100)).toBe(false);
    maps.apply(lost(10));
    maps.apply(mappingRow("exec", 11, { exec_epoch: 2 }));
    expect(maps.isDoubted(100)).toBe(false);
  });

  test("has mappings of which the birth is not known: those that a look finds after it", () => {
    const maps = createProcessMaps();
    maps.apply(mappingRow("exec", 1, { exec_epoch: 1 }));
    maps.apply(mmap(2, 10, 4));
    maps.apply(lost(5));
    for (const row of look(7, 10, 8)) maps.apply(row);
    expect(maps.mapsOf(100).map(({ birth_ns, birth_censored }) => [birth_ns, birth_censored])).toEqual([
      [2n, false],
      [7n, true],
    ]);
  });

  test("is looked at again after a call that does not tell what it changed", () => {
    const maps = createProcessMaps();
    maps.apply(mmap(2, 10, 4));
    maps.apply(mappingRow("other_call", 3));
    expect(maps.pidsNeedingSnapshot()).toEqual([100]);
  });

  test("may be any of the tree where names were lost: no process is made of such a row", () => {
    const maps = createProcessMaps();
    maps.apply(mappingRow("lost_names", 3));
    expect([maps.pids(), maps.counters.bad_rows]).toEqual([[], 0]);
  });
});

test("what a file is changes no map", () => {
  const maps = createProcessMaps();
  maps.apply(mappingRow("gguf", 3, { addr: page(10), size_bytes: page(4), dev: 1, inode: 7n, path: "/m" }));
  expect([maps.pids(), maps.counters.bad_rows]).toEqual([[], 0]);
});

describe("a copy that a fork made", () => {
  const fork = (time: number) => mappingRow("fork", time, { child_pid: 200, tid: 100 });

  test("is looked at where another thread of the parent changed its map lately: the copy is older than the fork is told", () => {
    const looked = (tid: number, between: number) => {
      const maps = createProcessMaps();
      maps.apply(mmap(1, 10, 4, 3, { tid }));
      maps.apply(fork(1 + between));
      return maps.pidsNeedingSnapshot().includes(200);
    };
    // A thread that forks may wait for a CPU between the copy and what tells of it.
    expect([looked(101, 1e6), looked(101, 5e8)]).toEqual([true, true]);
    expect([looked(100, 1e6), looked(101, 2e9)]).toEqual([false, false]);
  });

  /** What was told of the parent is later than the fork, and came before it. */
  const later = {
    "was protected": [mmap(1, 100, 4), mprotect(9, 100, 4, 1), fork(5)],
    grew: [mappingRow("exec", 1), stack(2, 100, 4), stack(9, 98, 6), fork(5)],
  };
  test.each(Object.entries(later))("is looked at where what it copied %s after the fork", (_, rows) => {
    const maps = recordedMaps();
    for (const row of rows) maps.apply(row);
    expect(maps.pidsNeedingSnapshot()).toContain(200);
    // The look is older than what the parent did.
    maps.apply(mappingRow("snapshot_begin", 7, { pid: 200 }));
    maps.apply(seen(100, 4, { pid: 200, timestamp_ns: 7n, path: "[stack]" }));
    maps.apply(mappingRow("snapshot_end", 8, { pid: 200 }));
    expect(places(maps, 200)).toEqual([[100, 4, 3]]);
  });

  test("is looked at where a file that it copied has no name yet, which may come to where that was before", () => {
    const maps = createProcessMaps();
    maps.apply(mmap(2, 10, 4, 3, { flags: 2, begin_ns: 1n, end_ns: 2n, file_offset_bytes: 0n }));
    maps.apply(fork(5));
    expect(maps.pidsNeedingSnapshot()).toEqual([200]);
  });

  test("has the names that come late", () => {
    const maps = createProcessMaps();
    maps.apply(mmap(2, 10, 4, 3, { flags: 2, begin_ns: 1n, end_ns: 2n, file_offset_bytes: 0n }));
    maps.apply(fork(5));
    maps.apply(
      mappingRow("file", 1, {
        addr: page(10),
        size_bytes: page(4),
        prot: 3,
        flags: 2,
        inode: 7n,
        dev: 1,
        path: "/f",
        file_offset_bytes: 0n,
      }),
    );
    expect([100, 200].map((pid) => maps.mapsOf(pid)[0]?.path)).toEqual(["/f", "/f"]);
  });
});

describe("a look that was made while calls were under way", () => {
  const look = (begin: number, end: number, mappings: readonly (readonly [from: number, prot: number])[]) => [
    mappingRow("snapshot_begin", begin),
    ...mappings.map(([from, prot]) => seen(from, 1, { timestamp_ns: BigInt(begin), prot })),
    mappingRow("snapshot_end", end),
  ];
  /** One thread moves a page away, another maps where it was, and only then are both calls told: after a look. */
  const moved = () => {
    const maps = createProcessMaps();
    const rows = [
      mmap(1, 10, 1, 3),
      ...look(12, 14, [
        [10, 1],
        [50, 3],
      ]),
      mmap(15, 10, 1, 1, { begin_ns: 11n, end_ns: 15n, tid: 101 }),
      mremap(16, 10, 1, 50, 1, { begin_ns: 10n, end_ns: 16n }),
    ];
    for (const row of rows) maps.apply(row);
    return maps;
  };

  test("is not the last word: the process is looked at once more, and is right by that", () => {
    const maps = moved();
    expect(maps.takeDisturbed()).toEqual([100]);
    expect(maps.takeDisturbed()).toEqual([]);
    const rows = look(30, 31, [
      [10, 1],
      [50, 3],
    ]);
    for (const row of rows) maps.apply(row);
    expect(maps.takeDisturbed()).toEqual([]);
    expect(places(maps)).toEqual([
      [10, 1, 1],
      [50, 1, 3],
    ]);
  });

  test("leaves a copy that a fork makes in doubt, until it is looked at", () => {
    const maps = moved();
    maps.apply(mappingRow("fork", 300_000_000, { child_pid: 200 }));
    expect(maps.pidsNeedingSnapshot()).toEqual([200]);
  });

  test("is one that began before a call had ended, or that a call began before the end of", () => {
    const calls = [
      munmap(5, 10, 1, { begin_ns: 5n, end_ns: 13n }),
      mmap(20, 10, 1, 3, { begin_ns: 13n, end_ns: 20n }),
      mmap(9, 10, 1, 3, { begin_ns: 8n, end_ns: 9n }),
      mmap(20, 10, 1, 3, { begin_ns: 15n, end_ns: 20n }),
    ];
    const disturbed = calls.map((row) => {
      const maps = createProcessMaps();
      const rows = [...look(12, 14, []), row].sort((a, b) => Number(a.timestamp_ns - b.timestamp_ns));
      for (const one of rows) maps.apply(one);
      return maps.takeDisturbed().length;
    });
    expect(disturbed).toEqual([1, 1, 0, 0]);
  });
});

test("a name that comes after a look is older than it: what had gone by then does not begin again", () => {
  const maps = createProcessMaps();
  maps.apply(mappingRow("snapshot_begin", 10));
  maps.apply(mappingRow("snapshot_end", 11));
  maps.apply(
    mappingRow("file", 5, { addr: page(10), size_bytes: page(4), prot: 3, flags: 1, inode: 7n, dev: 1, path: "/f" }),
  );
  expect(maps.mapsOf(100)).toEqual([]);
});

test("shared anonymous memory that took the place of other such memory is another mapping", () => {
  const maps = createProcessMaps();
  const shared = (time: number, inode: bigint) => [
    mappingRow("snapshot_begin", time),
    seen(10, 4, { timestamp_ns: BigInt(time), flags: 1, inode, dev: 1, path: "/dev/zero (deleted)" }),
    mappingRow("snapshot_end", time + 1),
  ];
  for (const row of [...shared(10, 7n), ...shared(20, 8n)]) maps.apply(row);
  expect(maps.mapsOf(100).map(({ inode }) => inode)).toEqual([8n]);
});
