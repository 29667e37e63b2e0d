import { describe, expect, test } from "bun:test";
import { mappingStays } from "../../../../src/label/capture/mapping-stays.ts";
import { BYTES_OF, type LabelRoom, labelRoom } from "../../../../src/label/label-room.ts";
import { CENSORED } from "../../../../src/label/regions/places.ts";
import type { MappingEvent } from "../../../../src/regions/mapping-row.ts";
import { mappingRow, mmap, mprotect, mremap, munmap, page } from "../../../fixtures/mapping-rows.ts";

/** The stays as [pid, first page, pages, birth, death, path]; a death is null where there was none. */
function staysOf(rows: readonly MappingEvent[], room?: LabelRoom) {
  const { list, facts } = mappingStays(rows, 0n, new Set(), room);
  const { places } = list;
  return Array.from({ length: places.count }, (_, row) => [
    places.pid[row],
    (places.begin[row] as number) / 4096,
    ((places.end[row] as number) - (places.begin[row] as number)) / 4096,
    places.birth_ns[row],
    (places.censored[row] as number) & CENSORED.death ? null : places.death_ns[row],
    facts[places.what[row] as number]?.path,
  ]);
}

describe("stays of mappings", () => {
  test("of a copy that fork made begin with the fork, not when the parent mapped what was copied", () => {
    const rows = [mmap(1, 10, 4), mappingRow("fork", 10, { child_pid: 200 }), mappingRow("exit", 30, { pid: 200 })];
    expect(staysOf(rows)).toEqual([
      [200, 10, 4, 10, 30, null],
      [100, 10, 4, 1, null, null],
    ]);
  });

  test("have the name of their file where it came after a part of the mapping had gone", () => {
    const file = { flags: 2, file_offset_bytes: page(0) };
    const named = { addr: page(12), size_bytes: page(2), prot: 3, inode: 7n, path: "/m.gguf", flags: 2 };
    const rows = [
      mmap(1, 10, 4, 3, file),
      munmap(2, 10, 2),
      mappingRow("file", 3, { ...named, file_offset_bytes: page(2) }),
    ];
    expect(staysOf(rows)).toEqual([
      [100, 10, 2, 1, 2, "/m.gguf"],
      [100, 12, 2, 1, null, "/m.gguf"],
    ]);
  });

  test("say which bytes went on at another address, and which had come from one", () => {
    const fateOf = (...rows: MappingEvent[]) => {
      const { places } = mappingStays(rows, 0n, new Set()).list;
      return Array.from({ length: places.count }, (_, row) => {
        const bits = places.censored[row] as number;
        const [has_come, has_left] = [(bits & CENSORED.came) !== 0, (bits & CENSORED.left) !== 0];
        return [(places.begin[row] as number) / 4096, places.birth_ns[row], { has_come, has_left }];
      }).toSorted();
    };
    const [whole, left, came] = [
      { has_come: false, has_left: false },
      { has_come: false, has_left: true },
      { has_come: true, has_left: false },
    ];
    // As realloc lets a large block grow: what is new behind it came into being there.
    expect(fateOf(mmap(1, 10, 4), mremap(5, 10, 4, 50, 8), munmap(9, 50, 8))).toEqual([
      [10, 1, left],
      [50, 5, came],
      [54, 5, whole],
    ]);
    // What a move leaves behind is freed, and what grows where it is has gone nowhere.
    expect(fateOf(mmap(1, 10, 4), mremap(5, 10, 4, 50, 2))).toEqual([
      [10, 1, left],
      [12, 1, whole],
      [50, 5, came],
    ]);
    expect(fateOf(mmap(1, 10, 4), mremap(5, 10, 4, 10, 8), munmap(9, 10, 8))).toEqual([
      [10, 1, whole],
      [14, 5, whole],
    ]);
    // Another thread has mapped memory there by the time that the call is told.
    const late = mremap(5, 10, 4, 50, 4, { begin_ns: 2n, end_ns: 5n });
    expect(fateOf(mmap(1, 10, 4), mmap(4, 10, 4), late)).toEqual([
      [10, 1, left],
      [10, 4, whole],
      [50, 5, came],
    ]);
    // The child of a fork has what came as its own from the beginning.
    const forked = mappingRow("fork", 7, { child_pid: 200 });
    expect(fateOf(mmap(1, 10, 4), mremap(5, 10, 4, 50, 4), forked)).toEqual([
      [10, 1, left],
      [50, 5, came],
      [50, 7, whole],
    ]);
  });

  test("keep when moved bytes came into being, over all of their moves", () => {
    const rows = [mmap(1, 10, 4), mremap(5, 10, 4, 50, 8), mremap(7, 50, 8, 90, 8)];
    const { list, movedBirths } = mappingStays(rows, 0n, new Set());
    const found = [...movedBirths].map(([row, time]) => [(list.places.begin[row] ?? 0) / 4096, time]);
    expect(found.toSorted()).toEqual([
      [50, 1],
      [90, 1],
      [94, 5],
    ]);
  });

  test("are of a GGUF where its first bytes were seen to say so, before or after, in whatever process", () => {
    const file = { flags: 2, file_offset_bytes: page(0), dev: 5 };
    const named = (time: number, from: number, inode: bigint) =>
      mappingRow("file", time, { addr: page(from), size_bytes: page(4), prot: 1, path: "/blob", inode, ...file });
    const told = mappingRow("gguf", 5, { ...file, pid: 9, inode: 7n, path: "/blob" });
    const rows = [mmap(1, 10, 4, 1, file), named(2, 10, 7n), munmap(3, 10, 4), told];
    const again = [mmap(6, 20, 4, 1, file), named(7, 20, 7n), mmap(8, 30, 4, 1, file), named(9, 30, 8n)];
    const { list, facts } = mappingStays([...rows, ...again], 0n, new Set());
    const found = Array.from({ length: list.places.count }, (_, row) => facts[list.places.what[row] ?? -1]?.is_gguf);
    expect(found).toEqual([true, true, false]);
  });

  test("are of a file that the process cannot have written to only where no protection ever let it, from our first look on", () => {
    const file = { flags: 2, file_offset_bytes: page(0) };
    const isReadOnly = (...rows: MappingEvent[]): boolean[] => {
      const { list, facts } = mappingStays(rows, 0n, new Set());
      return Array.from(
        { length: list.places.count },
        (_, row) => facts[list.places.what[row] ?? -1]?.is_read_only === true,
      );
    };
    expect(isReadOnly(mmap(1, 10, 4, 1, file))).toEqual([true]);
    expect(isReadOnly(mmap(1, 10, 4, 1, file), munmap(2, 10, 2))).toEqual([true, true]);
    expect(isReadOnly(mmap(1, 10, 4, 3, file))).toEqual([false]);
    expect(isReadOnly(mmap(1, 10, 4, 1))).toEqual([false]);
    expect(isReadOnly(mmap(1, 10, 4, 1, file), mprotect(2, 10, 4, 3), mprotect(3, 10, 4, 1))).toEqual([false]);
    const there = { addr: page(10), size_bytes: page(4), prot: 1, inode: 7n, path: "/m.gguf", flags: 2 };
    const look = [
      mappingRow("snapshot_begin", 1),
      mappingRow("snapshot", 2, { ...there, file_offset_bytes: page(0) }),
      mappingRow("snapshot_end", 3),
    ];
    expect(isReadOnly(...look)).toEqual([false]);
  });

  test("are of a file that nothing can have been written to while we looked where no protection let it, whatever was before", () => {
    const file = { flags: 2, file_offset_bytes: page(0) };
    const isUnwritable = (...rows: MappingEvent[]): boolean[] => {
      const { list, facts } = mappingStays(rows, 0n, new Set());
      return Array.from(
        { length: list.places.count },
        (_, row) => facts[list.places.what[row] ?? -1]?.is_unwritable === true,
      );
    };
    const looked = (prot: number): MappingEvent[] => {
      const there = { addr: page(10), size_bytes: page(4), inode: 7n, path: "/m.gguf", flags: 2 };
      const row = mappingRow("snapshot", 2, { ...there, prot, file_offset_bytes: page(0) });
      return [mappingRow("snapshot_begin", 1), row, mappingRow("snapshot_end", 3)];
    };
    expect(isUnwritable(mmap(1, 10, 4, 1, file))).toEqual([true]);
    expect(isUnwritable(...looked(1))).toEqual([true]);
    expect(isUnwritable(...looked(3))).toEqual([false]);
    expect(isUnwritable(...looked(1), mprotect(5, 10, 4, 3))).toEqual([false]);
    expect(isUnwritable(...looked(3), mprotect(5, 10, 4, 1))).toEqual([false]);
    expect(isUnwritable(...looked(1), mprotect(5, 10, 4, 3), mprotect(6, 10, 4, 1))).toEqual([false]);
    // No file: what may be written elsewhere through another address is not told.
    expect(isUnwritable(mmap(1, 10, 4, 1))).toEqual([false]);
  });

  describe("may be used by others through another mapping", () => {
    const SHARED = 1;
    const SHARED_ANON = 0x21;
    const file = { flags: SHARED, file_offset_bytes: page(0) };
    const anon = { flags: SHARED_ANON };
    const named = (from: number, fields = {}) =>
      mappingRow("file", 1, { addr: page(from), size_bytes: page(4), inode: 7n, path: "/memfd:ring", ...fields });
    const isShared = (...rows: MappingEvent[]): boolean[] => {
      const { list, facts } = mappingStays(rows, 0n, new Set());
      return Array.from(
        { length: list.places.count },
        (_, row) => facts[list.places.what[row] ?? -1]?.is_shared === true,
      );
    };

    test("where they are of a file that is mapped shared and may be written, now or before", () => {
      expect(isShared(mmap(1, 10, 4, 3, file))).toEqual([true]);
      expect(isShared(mmap(1, 10, 4, 3, file), mprotect(2, 10, 4, 1))).toEqual([true]);
      expect(isShared(mmap(1, 10, 4, 3, { ...file, flags: 2 }))).toEqual([false]);
      expect(isShared(mmap(1, 10, 4, 1, file))).toEqual([false]);
    });

    test("where they are of what another process or mapping may write, however they map it", () => {
      const other = { ...file, flags: 2, pid: 200 };
      const reader = [mmap(1, 50, 4, 1, other), named(50, { ...other, prot: 1 })];
      const writer = [mmap(1, 10, 4, 3, file), named(10, { ...file, prot: 3 })];
      expect(isShared(...reader)).toEqual([false]);
      expect(isShared(...reader, ...writer)).toEqual([true, true]);
      expect(isShared(mmap(1, 70, 4, 1, other), named(70, { ...other, prot: 1, inode: 8n }), ...writer)).toEqual([
        false,
        true,
      ]);
    });

    test("where they are of shared memory that this one may only read, as others fill it, but for a model that lies there", () => {
      const reads = (path: string, fields = {}) => [
        mmap(1, 10, 4, 1, { ...file, ...fields }),
        named(10, { ...file, prot: 1, path, ...fields }),
      ];
      for (const path of ["/memfd:ring", "/dev/shm/psm_1a2b", "/dev/shm/psm_1a2b (deleted)", "/SYSV00000000 (deleted)"])
        expect([path, ...isShared(...reads(path))]).toEqual([path, true]);
      for (const path of ["/srv/m.gguf", "/srv/log", "/dev/shm/m.gguf", "/dev/shm/a-00001.safetensors (deleted)"])
        expect([path, ...isShared(...reads(path))]).toEqual([path, false]);
      const blob = mappingRow("gguf", 5, { pid: 9, inode: 7n, path: "/dev/shm/blob", flags: 1, dev: 5 });
      expect(isShared(...reads("/dev/shm/blob", { dev: 5 }))).toEqual([true]);
      expect(isShared(...reads("/dev/shm/blob", { dev: 5 }), blob)).toEqual([false]);
      // What is mapped for itself alone, and never for writing, holds nothing of others.
      expect(isShared(mmap(1, 10, 4, 1, anon))).toEqual([false]);
    });

    test("where another mapping of them was made before their name was taken away", () => {
      const other = { ...file, flags: 2, pid: 200 };
      const path = "/torch_4711_0";
      const writer = [mmap(1, 10, 4, 3, file), named(10, { ...file, prot: 3, path })];
      const reader = [mmap(1, 50, 4, 1, other), named(50, { ...other, prot: 1, path: `${path} (deleted)` })];
      expect(isShared(...reader)).toEqual([false]);
      expect(isShared(...writer, ...reader)).toEqual([true, true]);
    });

    test("where shared memory without a name was copied by a fork, mapped twice by a move, or there before we looked", () => {
      const map = mmap(1, 10, 4, 3, anon);
      expect(isShared(map)).toEqual([false]);
      expect(isShared(map, mappingRow("fork", 2, { child_pid: 200 }))).toEqual([true, true]);
      expect(isShared(map, mappingRow("fork", 2, { child_pid: 200, flags: 0x100 }))).toEqual([false]);
      expect(isShared(map, mappingRow("fork", 2, { child_pid: 200 }), mappingRow("exec", 3, { pid: 200 }))).toEqual([
        true,
        true,
      ]);
      const alone = mmap(4, 10, 4, 3, { ...anon, pid: 200, exec_epoch: 1 });
      const forked = [mappingRow("fork", 2, { child_pid: 200 }), mappingRow("exec", 3, { pid: 200, exec_epoch: 1 })];
      expect(isShared(...forked, alone)).toEqual([false]);
      expect(isShared(map, mremap(2, 10, 0, 50, 4))).toEqual([true, true]);
      expect(isShared(map, mremap(2, 10, 4, 50, 4))).toEqual([false, false]);
      const there = { addr: page(10), size_bytes: page(4), prot: 3, inode: 9n, path: "/dev/zero (deleted)", flags: 1 };
      const look = [
        mappingRow("snapshot_begin", 1),
        mappingRow("snapshot", 2, { ...there, file_offset_bytes: page(0) }),
        mappingRow("snapshot_end", 3),
      ];
      expect(isShared(...look)).toEqual([true]);
    });
  });

  describe("of shared memory without a name", () => {
    const SECOND = 1e9;
    const anon = { flags: 0x21 };
    const fork = (time: number, fields = {}) => mappingRow("fork", time, { child_pid: 200, ...fields });
    /** By process and first page, where others may use the same bytes. */
    const sharedOf = (...rows: MappingEvent[]): Record<string, boolean> => {
      const { list, facts } = mappingStays(rows, 0n, new Set());
      const { pid, begin, what, count } = list.places;
      return Object.fromEntries(
        Array.from({ length: count }, (_, row) => [
          `${pid[row]}/${(begin[row] ?? 0) / 4096}`,
          facts[what[row] ?? -1]?.is_shared === true,
        ]),
      );
    };

    test("are its own where it came after the last fork, when the copy was surely made", () => {
      const [early, late] = [mmap(1, 10, 4, 3, anon), mmap(5 * SECOND, 50, 4, 3, anon)];
      expect(sharedOf(early, fork(2), late)).toEqual({ "100/10": true, "200/10": true, "100/50": false });
      expect(sharedOf(early, fork(2), late, fork(9 * SECOND, { child_pid: 300 }))).toMatchObject({ "100/50": true });
      // Another thread may have been at it when the fork was told.
      expect(sharedOf(early, fork(2), mmap(SECOND / 2, 50, 4, 3, anon))).toMatchObject({ "100/50": true });
      // What is over by then nobody has copied.
      expect(sharedOf(early, munmap(2 * SECOND, 10, 4), fork(9 * SECOND))).toEqual({ "100/10": false });
      const inChild = mmap(5 * SECOND, 70, 4, 3, { ...anon, pid: 200 });
      expect(sharedOf(early, fork(2), inChild)).toEqual({ "100/10": true, "200/10": true, "200/70": false });
    });

    test("are its own where it was mapped after one that a move left at two addresses, but not where it moved later", () => {
      const [early, late] = [mmap(1, 10, 4, 3, anon), mmap(5 * SECOND, 90, 4, 3, anon)];
      const twice = sharedOf(early, mremap(2, 10, 0, 50, 4), late);
      expect(twice).toEqual({ "100/10": true, "100/50": true, "100/90": false });
      const moved = sharedOf(early, fork(2), mremap(5 * SECOND, 10, 4, 60, 4));
      expect(moved).toMatchObject({ "100/10": true, "100/60": true });
    });

    test("may be used by others where records were lost, among which a fork may have been", () => {
      const lost = mappingRow("lost", 9 * SECOND, { begin_ns: BigInt(SECOND), end_ns: BigInt(9 * SECOND) });
      expect(sharedOf(mmap(1, 10, 4, 3, anon), lost)).toMatchObject({ "100/10": true });
    });
  });

  test("are code where a file may be executed, and no data of that file nor memory of another kind", () => {
    const file = { flags: 2, file_offset_bytes: page(0) };
    const rows = [mmap(1, 10, 4, 5, file), mmap(2, 20, 4, 1, file), mmap(3, 30, 4, 7)];
    const { list, facts } = mappingStays(rows, 0n, new Set());
    const stays = Array.from({ length: list.places.count }, (_, row) => [
      (list.places.begin[row] ?? 0) / 4096,
      facts[list.places.what[row] ?? -1]?.is_code,
    ]);
    expect(stays.toSorted()).toEqual([
      [10, true],
      [20, false],
      [30, false],
    ]);
  });

  test("are refused where there are more than the memory for deriving holds, with what to do", () => {
    const rows = Array.from({ length: 3000 }, (_, i) => mmap(i + 1, 10 + 2 * i, 1));
    const roomFor = (lives: number) => labelRoom(lives * BYTES_OF["lives of mappings"]);
    expect(staysOf(rows, roomFor(3000)).length).toBe(3000);
    expect(() => staysOf(rows, roomFor(2000))).toThrow("the run holds more than 2000 lives of mappings");
  });

  test("are refused where more mappings are there at one time than there is memory for, before all are read", () => {
    const room = labelRoom(6000 * BYTES_OF["mappings at one time"]);
    let read = 0;
    function* workers(alive: boolean): Generator<MappingEvent> {
      for (let i = 0; i < 40_000; i++) {
        const pid = 200 + Math.floor(i / 100);
        read += 1;
        yield mappingRow("mmap", i, { ...mmap(i, 10 + 2 * i, 1), pid });
        if (!alive && i % 100 === 99) yield mappingRow("exit", i, { pid });
      }
    }
    const follow = (alive: boolean) => mappingStays(workers(alive), 0n, new Set(), room).list.places.count;
    expect(follow(false)).toBeGreaterThan(39_000);
    read = 0;
    expect(() => follow(true)).toThrow("the run holds more than 6000 mappings at one time");
    expect(read).toBeLessThan(12_000);
  });
});
