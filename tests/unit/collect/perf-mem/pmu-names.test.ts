import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pmuNames } from "../../../../src/collect/perf-mem/perf-command.ts";
import { openPerfTail } from "../../../../src/collect/perf-mem/tail.ts";
import { MEM_LOADS, perfData } from "../../../fixtures/perf-data.ts";

test("PMUs have the names that the kernel gives them, also before perf has written them down", async () => {
  const folder = mkdtempSync(join(tmpdir(), "mrm-pmus-"));
  try {
    for (const [name, type] of [
      ["ibs_op", "11\n"],
      ["cpu", "4\n"],
    ] as const) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, "type"), type);
    }
    mkdirSync(join(folder, "nothing"));
    const pmus = pmuNames(folder);
    expect([...pmus].sort(([a], [b]) => a - b)).toEqual([
      [4, "cpu"],
      [11, "ibs_op"],
    ]);
    expect(pmuNames(join(folder, "missing")).size).toBe(0);
    const path = join(folder, "perf.data");
    const event = { ...MEM_LOADS, name: "ibs_op//", type: 11, config: 0n, bpAddr: 0n };
    writeFileSync(path, await perfData({ mode: "file", events: [event], records: [] }));
    using tail = openPerfTail(path, null, pmus);
    expect(tail.events.map(({ source, uncounted }) => [source, uncounted?.includes("by cycles")])).toEqual([
      ["ibs", true],
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
