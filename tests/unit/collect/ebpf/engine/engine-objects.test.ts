import { describe, expect, test } from "bun:test";
import { createEngineObjects } from "../../../../../src/collect/ebpf/engine/engine-objects.ts";
import type { EngineSession } from "../../../../../src/engine/probing/session.ts";
import type { MappingEvent } from "../../../../../src/regions/mapping-row.ts";
import { emptyMappingEvent } from "../../../../../src/regions/mapping-row.ts";

type Offered = readonly [path: string, pid: number];

/** A session that takes files named `engine` and cannot read files named `bad`; it remembers what it was offered. */
function fakeSession() {
  const offered: Offered[] = [];
  const attachObject: EngineSession["attachObject"] = async (path, pid) => {
    offered.push([path, pid]);
    if (path.includes("bad")) throw new Error("cannot be read");
    return { attached: path.includes("engine"), symbols: [], took_ns: 1n };
  };
  return { offered, session: { attachObject } as EngineSession };
}

const mapped = (path: string | null, change: Partial<MappingEvent> = {}): MappingEvent => ({
  ...emptyMappingEvent("file", 5n, 10),
  path,
  prot: 5,
  dev: 1,
  inode: BigInt(path?.length ?? 1),
  ...change,
});

describe("mapped objects", () => {
  test("are offered once per file and life of a process", async () => {
    const { offered, session } = fakeSession();
    const objects = createEngineObjects(session);
    await objects.offer([mapped("/lib/engine"), mapped("/lib/engine"), mapped("/lib/engine", { kind: "snapshot" })]);
    expect(offered).toEqual([["/lib/engine", 10]]);
    await objects.offer([mapped("/lib/engine", { exec_epoch: 1 }), mapped("/lib/engine", { pid: 11 })]);
    expect(offered).toEqual([
      ["/lib/engine", 10],
      ["/lib/engine", 10],
      ["/lib/engine", 11],
    ]);
    expect(objects.warnings()).toEqual([]);
  });

  test("are not offered where they are no executable file", async () => {
    const { offered, session } = fakeSession();
    await createEngineObjects(session).offer([
      mapped(null),
      mapped("[vdso]"),
      mapped("/data", { prot: 3 }),
      mapped("/data", { prot: null }),
      mapped("/anon", { inode: 0n }),
      mapped("/lib/engine", { kind: "mmap" }),
    ]);
    expect(offered).toEqual([]);
  });

  test("that cannot be read are told with the reason, and do not keep others from being offered", async () => {
    const { offered, session } = fakeSession();
    const objects = createEngineObjects(session);
    await objects.offer([mapped("/lib/bad"), mapped("/lib/the-engine")]);
    expect(objects.warnings()).toEqual(["no probes in /lib/bad: cannot be read"]);
    expect(offered.map(([path]) => path)).toEqual(["/lib/bad", "/lib/the-engine"]);
  });

  test("are offered no more after the close, though the rows were given before", async () => {
    const { offered, session } = fakeSession();
    const objects = createEngineObjects(session);
    const offering = objects.offer([mapped("/lib/a"), mapped("/lib/bb"), mapped("/lib/ccc")]);
    objects.close();
    await offering;
    await objects.offer([mapped("/lib/dddd")]);
    expect(offered).toEqual([["/lib/a", 10]]);
  });
});
