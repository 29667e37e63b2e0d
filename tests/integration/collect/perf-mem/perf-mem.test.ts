import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasMemoryPmu } from "../../../../src/collect/perf-mem/perf-command.ts";
import { createPerfMemCollector } from "../../../../src/collect/perf-mem/perf-mem.ts";
import type { Batch } from "../../../../src/columnar/batch.ts";
import { balances, type LedgerRow } from "../../../../src/schema/ledger.ts";
import { compileProgram } from "../../../fixtures/compile.ts";
import { rowsAt } from "../../../fixtures/ledger.ts";
import { type Row, readPath, rowsOf } from "../../../fixtures/perf-rows.ts";
import { registersFree } from "../../../fixtures/registers-free.ts";
import { waitUntil } from "../../../fixtures/wait-until.ts";
import { holdTarget } from "../held-target.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-perf-mem-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Recorded {
  readonly rows: Readonly<Record<string, Row[]>>;
  readonly ledger: readonly LedgerRow[];
  readonly path: string;
  readonly line: string;
}

let runs = 0;

/** Records a command from its exec to its end, as a run does. */
async function record(command: readonly string[], words: readonly string[]): Promise<Recorded> {
  const rawDir = join(folder, String(++runs));
  await using held = holdTarget(command);
  const collector = createPerfMemCollector({ words, rawDir });
  const rows: Record<string, Row[]> = {};
  const take = (batches: Iterable<Batch>): void => {
    for (const batch of batches) rows[batch.table] = [...(rows[batch.table] ?? []), ...rowsOf(batch)];
  };
  try {
    await collector.start(held.target);
    held.release();
    const ended = held.finish();
    let over = false;
    ended.then(() => {
      over = true;
    });
    const line = await held.line();
    while (!over) {
      take(collector.batches());
      await Bun.sleep(5);
    }
    const rest = await collector.stop();
    take(rest.batches);
    return { rows, ledger: rest.ledger, path: join(rawDir, "perf.data"), line };
  } finally {
    await collector.stop();
  }
}

describe("page faults by perf", () => {
  test("are one for each page that the program touches, of which none is lost, and the file is perf's own", async () => {
    const { rows, ledger, path, line } = await record(
      [compileProgram("count-faults"), "5000", "touch"],
      ["page-faults"],
    );
    const { first, second } = JSON.parse(line) as Record<string, string>;
    const areas = [Number(first), Number(second)];
    const inside = rows.fault?.filter(({ address }) =>
      areas.some((area) => Number(address) >= area && Number(address) < area + 5000 * 4096),
    );
    // perf now and then writes one sample twice, with the same time; `perf script` shows both, and so do we.
    expect(new Set(inside?.map(({ timestamp_ns, address }) => `${timestamp_ns} ${address}`)).size).toBe(10_000);
    expect(ledger.filter((row) => !balances(row))).toEqual([]);
    const kept = rows.fault?.length ?? 0;
    expect(rowsAt(ledger, { stream: "fault", source: "fault", way: "perf" })).toMatchObject([
      { stage: "ring", dropped: 0, dropped_by: {} },
      { stage: "decode", dropped: 0, kept },
    ]);
    // What was read while it grew is what the finished file holds.
    const whole = await readPath(path);
    expect(whole.rows.fault).toEqual(rows.fault);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });
});

describe("timer samples by perf", () => {
  test("have the address that the instruction was about to access, by its registers", async () => {
    const program = compileProgram("walk-array", ["-no-pie"]);
    const { rows, line } = await record([program, "0", "1.5"], ["cpu-clock", "freq=500"]);
    const [first, bytes] = line.split(" ").map(Number);
    const accesses = rows.access ?? [];
    expect(accesses.length).toBeGreaterThan(50);
    const inside = accesses.filter(({ address }) => {
      const at = Number(address) - Number(first);
      return at >= 0 && at < Number(bytes);
    });
    expect(inside.length / accesses.length).toBeGreaterThan(0.95);
    expect(new Set(inside.map(({ op_type }) => op_type))).toEqual(new Set(["load", "store"]));
    expect(accesses.every(({ source, op_evidence }) => source === "clock" && op_evidence === "decoded")).toBe(true);
  });
});

describe("breakpoints by perf", () => {
  test("see every access to the bytes, as rows of one watch", async () => {
    const program = compileProgram("walk-array", ["-no-pie"]);
    const { stdout } = Bun.spawnSync([program, "0", "0"]);
    const word = new TextDecoder().decode(stdout).trim().split(" ")[2] ?? "";
    await registersFree();
    const { rows } = await record([program, "500", "0"], [`mem:${word}/8:rw`]);
    // The kernel clears the page when it loads the program; all others are the program's own.
    expect(rows.access?.filter(({ in_kernel }) => in_kernel === 0).length).toBe(1000);
    expect(rows.access?.every(({ address, watch_id }) => address === BigInt(word) && watch_id === 1)).toBe(true);
    expect(rows.watch).toMatchObject([{ addr: BigInt(word), size_bytes: 8, mode: "rw" }]);
  });
});

describe("a perf that is killed", () => {
  test("leaves the rows it had written, and a warning that says so", async () => {
    await using held = holdTarget([compileProgram("walk-array", ["-no-pie"]), "0", "30"]);
    const collector = createPerfMemCollector({ words: ["cpu-clock", "freq=5000"], rawDir: join(folder, "killed") });
    try {
      await collector.start(held.target);
      held.release();
      await held.line();
      let rows = 0;
      // Until perf has handed over a part of its buffer.
      const handedOver = (): boolean => {
        for (const batch of collector.batches()) if (batch.table === "access") rows += batch.rows;
        return rows > 0;
      };
      await waitUntil(handedOver);
      expect(rows).toBeGreaterThan(0);
      for (const pid of collector.helpers?.() ?? []) process.kill(pid, "SIGKILL");
      await Bun.sleep(100);
      const { ledger } = await collector.stop();
      expect(ledger.filter((row) => !balances(row))).toEqual([]);
      expect(collector.warnings?.().join()).toContain("SIGKILL");
    } finally {
      await collector.stop();
    }
  });
});

describe("the perf-mem collector where it cannot run", () => {
  const ask = async (words: readonly string[]) => {
    const collector = createPerfMemCollector({ words, rawDir: join(folder, "unused") });
    return await collector.canRun({ pid: process.pid, command: [], held: true });
  };

  test("names the ways that work where there is no PMU", async () => {
    if (hasMemoryPmu()) {
      process.stderr.write("skipped: this machine has a PMU with memory events\n");
      return;
    }
    const answer = await ask(["mem"]);
    expect(answer).toMatchObject({ ok: false });
    if (!answer.ok) expect(`${answer.reason} ${answer.hint}`).toMatch(/no PMU.*page-faults/);
  });

  test("names the event or setting that it does not know", async () => {
    const five = Array<string>(5).fill("mem:0x1/8:rw");
    for (const words of [
      ["faults"],
      ["mem:1/8"],
      ["mem", "page-faults"],
      five,
      ["freq=5"],
      ["cpu-clock", "freq=x"],
      ["mem", "hz=3"],
    ]) {
      expect(await ask(words)).toMatchObject({ ok: false });
    }
    expect(await ask(["page-faults", "cpu-clock", "mem:0x1000/8:rw", "freq=500"])).toMatchObject({ ok: true });
  });
});
