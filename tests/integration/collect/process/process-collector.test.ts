import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createProcessCollector } from "../../../../src/collect/process/process-collector.ts";
import { type Batch, isStringColumn } from "../../../../src/columnar/batch.ts";
import { columnsOf } from "../../../../src/schema/columns.ts";
import { balances } from "../../../../src/schema/ledger.ts";
import { createProcessTree } from "../../../../src/target/process-tree.ts";
import { compileProgram } from "../../../fixtures/compile.ts";
import { isRunning, waitUntil } from "../../../fixtures/wait-until.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-process-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Prints its own account for every line on stdin; before that `t` touches 8 MiB of fresh memory, `f` forks a child that waits. */
const TOUCHER = String.raw`
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
int main(void) {
  char line[16];
  setvbuf(stdout, NULL, _IONBF, 0);
  while (fgets(line, sizeof line, stdin)) {
    int child = 0;
    if (line[0] == 'f') { child = fork(); if (!child) { pause(); _exit(0); } }
    else if (line[0] == 't') {
      char *p = mmap(0, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      madvise(p, 8 << 20, MADV_NOHUGEPAGE);
      memset(p, 1, 8 << 20);
    }
    struct rusage u; getrusage(RUSAGE_SELF, &u);
    printf("{\"minor\":%ld,\"major\":%ld,\"cpu_us\":%ld,\"child\":%d}\n", u.ru_minflt, u.ru_majflt,
      u.ru_utime.tv_sec * 1000000 + u.ru_utime.tv_usec + u.ru_stime.tv_sec * 1000000 + u.ru_stime.tv_usec, child);
  }
}`;

interface Account {
  minor: number;
  major: number;
  cpu_us: number;
  child: number;
}

function startToucher() {
  const source = join(folder, "toucher.c");
  const program = join(folder, "toucher");
  writeFileSync(source, TOUCHER);
  const compiled = Bun.spawnSync(["cc", "-O1", "-o", program, source]);
  if (compiled.exitCode !== 0) throw new Error(compiled.stderr.toString());
  const child = Bun.spawn([program], { stdin: "pipe", stdout: "pipe" });
  const reader = child.stdout.getReader();
  return {
    child,
    async command(line: string): Promise<Account> {
      child.stdin.write(`${line}\n`);
      child.stdin.flush();
      const { value } = await reader.read();
      return JSON.parse(new TextDecoder().decode(value)) as Account;
    },
  };
}

function cell(batch: Batch, column: string, row: number): bigint | number | string | null {
  const data = batch.columns[column];
  if (data === undefined) return null;
  if (isStringColumn(data)) return data.values[data.codes[row] ?? -1] ?? null;
  return data.valid?.[row] === 0 ? null : (data.data[row] ?? null);
}

function rowsOf(batches: readonly Batch[]): Record<string, bigint | number | string | null>[] {
  return batches.flatMap((batch) =>
    Array.from({ length: batch.rows }, (_, row) =>
      Object.fromEntries(columnsOf("process").map(({ name }) => [name, cell(batch, name, row)])),
    ),
  );
}

describe("the process collector on a real child", () => {
  test("sees RSS and faults grow by what the child touches, as getrusage says", async () => {
    const { child, command } = startToucher();
    const collector = createProcessCollector({ intervalNs: 1n });
    const target = { pid: child.pid, command: ["toucher"], held: false };
    expect(await collector.canRun(target)).toMatchObject({ ok: true });
    await collector.start(target);
    const seen = [];
    for (let round = 0; round < 4; round++) {
      const account = await command("t");
      const row = rowsOf(collector.batches()).find((r) => r.pid === child.pid);
      seen.push({ account, row, after: await command("say") });
    }
    const first = seen[0];
    const last = seen[3];
    const grown = Number(last?.row?.rss_anon_bytes) - Number(first?.row?.rss_anon_bytes);
    // The kernel keeps RSS in per-CPU counters: it may lag by some pages per CPU.
    expect(grown).toBeGreaterThan(3 * 8 * 2 ** 20 - 512 * 1024);
    expect(grown).toBeLessThan(3 * 8 * 2 ** 20 + 512 * 1024);
    for (const { account, row, after } of seen) {
      // The child prints, and waits for its next line: each figure lies between its accounts before and after.
      expect(Number(row?.minor_faults)).toBeGreaterThanOrEqual(account.minor);
      expect(Number(row?.minor_faults)).toBeLessThanOrEqual(after.minor);
      expect(Number(row?.major_faults)).toBeGreaterThanOrEqual(account.major);
      expect(Number(row?.major_faults)).toBeLessThanOrEqual(after.major);
      // User and system time are whole ticks of 10 ms, the rest cut off.
      const cpuMs = (Number(row?.cpu_user_ns) + Number(row?.cpu_system_ns)) / 1e6;
      expect(cpuMs).toBeGreaterThan(account.cpu_us / 1e3 - 20);
      expect(cpuMs).toBeLessThanOrEqual(after.cpu_us / 1e3);
      expect(row?.role).toBe("target");
      expect(row?.threads).toBe(1);
    }
    expect(Number(first?.row?.pss_bytes)).toBeGreaterThan(8 * 2 ** 20);
    expect(Number(first?.row?.mem_available_bytes)).toBeGreaterThan(0);
    child.kill();
    await child.exited;
    const { batches, ledger } = await collector.stop();
    expect(rowsOf([...batches]).every((row) => row.role === "tracer" || row.rss_bytes === 0n)).toBe(true);
    expect(ledger.every(balances)).toBe(true);
    expect(ledger.every((row) => row.dropped === 0)).toBe(true);
  });

  test("finds forked children by itself, reports each once after its end, and its own process as tracer", async () => {
    const { child, command } = startToucher();
    const tree = createProcessTree();
    const collector = createProcessCollector({ tree, intervalNs: 1n, searchNs: 0n });
    await collector.start({ pid: child.pid, command: [], held: false });
    const { child: grandchild } = await command("f");
    const rows = rowsOf(collector.batches());
    expect(rows.map((row) => row.pid).sort()).toEqual([child.pid, grandchild, process.pid].sort());
    const tracer = rows.find((row) => row.role === "tracer");
    expect(tracer?.pid).toBe(process.pid);
    const rss = process.memoryUsage.rss();
    expect(Math.abs(Number(tracer?.rss_bytes) - rss) / rss).toBeLessThan(0.2);
    // A zombie stays in the children list of a parent that does not wait for it.
    process.kill(grandchild, "SIGKILL");
    while (!/\nState:\tZ/.test(readFileSync(`/proc/${grandchild}/status`, "utf8"))) await Bun.sleep(1);
    const after = [1, 2, 3].flatMap(() => rowsOf(collector.batches()).filter((row) => row.pid === grandchild));
    expect(after.map((row) => row.rss_bytes)).toEqual([0n]);
    expect(tree.pids().sort()).toEqual([child.pid, grandchild].sort());
    child.kill();
    await child.exited;
    const { ledger } = await collector.stop();
    expect(ledger.every(balances)).toBe(true);
  });

  test("takes the processes of a tree that another collector tells, and helpers as the tracer's, and looks for none", async () => {
    const { child, command } = startToucher();
    const { child: grandchild } = await command("f");
    const helper = Bun.spawn(["sleep", "30"]);
    const tree = createProcessTree();
    const settings = { tree, searches: false, helpers: () => [helper.pid], intervalNs: 1n, searchNs: 0n };
    const collector = createProcessCollector(settings);
    const roles = () => rowsOf(collector.batches()).map(({ pid, role }) => `${pid} ${role}`);
    tree.begin(child.pid);
    await collector.start({ pid: child.pid, command: [], held: false });
    const tracer = [`${process.pid} tracer`, `${helper.pid} tracer`];
    expect(roles().sort()).toEqual([...tracer, `${child.pid} target`].sort());
    tree.begin(grandchild);
    expect(roles().sort()).toEqual([...tracer, `${child.pid} target`, `${grandchild} target`].sort());
    // Its end is another's to tell.
    process.kill(grandchild, "SIGKILL");
    await waitUntil(() => !isRunning(grandchild));
    collector.batches();
    expect(tree.living().sort()).toEqual([child.pid, grandchild].sort());
    for (const one of [child, helper]) one.kill();
    await Promise.all([child.exited, helper.exited]);
    const { ledger } = await collector.stop();
    expect(ledger.every(balances)).toBe(true);
  });

  test("gives a process that lives in the memory of another none, until its exec, and the CPU time that it took", async () => {
    const { child } = startToucher();
    const tree = createProcessTree();
    tree.begin(child.pid, process.pid);
    const collector = createProcessCollector({ tree, searches: false, intervalNs: 1n });
    await collector.start({ pid: child.pid, command: [], held: false });
    const row = () => rowsOf(collector.batches()).find(({ pid }) => pid === child.pid);
    expect(row()).toMatchObject({ rss_bytes: 0n, vms_bytes: 0n, pss_bytes: null, threads: 1 });
    tree.exec(child.pid);
    // The child itself may not have come farther than its exec.
    await waitUntil(() => Number(row()?.rss_bytes) > 2 ** 16);
    child.kill();
    await child.exited;
    expect((await collector.stop()).ledger.every(balances)).toBe(true);
  });

  test("follows a process whose first thread has ended, with its memory, until the last one has", async () => {
    const child = Bun.spawn([compileProgram("leaderless")], { stdin: "pipe", stdout: "pipe" });
    const tree = createProcessTree();
    const collector = createProcessCollector({ tree, intervalNs: 1n });
    await collector.start({ pid: child.pid, command: [], held: false });
    await child.stdout.getReader().read();
    expect(readFileSync(`/proc/${child.pid}/stat`, "utf8")).toContain(") Z ");
    for (let round = 0; round < 2; round++) {
      const row = rowsOf(collector.batches()).find(({ pid }) => pid === child.pid);
      expect(Number(row?.rss_anon_bytes)).toBeGreaterThan(15 * 2 ** 20);
    }
    expect(tree.hasEnded()).toBe(false);
    child.stdin.end();
    await child.exited;
    collector.batches();
    expect(tree.hasEnded()).toBe(true);
    expect((await collector.stop()).ledger.every(balances)).toBe(true);
  });

  test("samples when due, not at every call, and counts the samples that it missed", async () => {
    let clock = 5_000_000_000n;
    const collector = createProcessCollector({ now: () => clock });
    await collector.start({ pid: process.ppid, command: [], held: false });
    const due = [0n, 5n, 50n, 99n, 100n, 105n, 450n].map((ms) => {
      clock = 5_000_000_000n + ms * 1_000_000n;
      return collector.batches().length;
    });
    expect(due).toEqual([1, 0, 0, 0, 1, 0, 1]);
    const { ledger } = await collector.stop();
    expect(ledger[0]?.unseen_estimate).toBeNull();
    expect(collector.details?.()).toEqual({ process: { samples_late: 2 } });
  });

  test("says why it cannot run on a process that is not there", async () => {
    const capability = await createProcessCollector().canRun({ pid: 0x7ffffff0, command: [], held: false });
    expect(capability).toMatchObject({ ok: false });
  });
});

test("PSS is read of a process of 190 MiB, and not of one of 30 GB: it would wait for its map for a second", async () => {
  const procRoot = join(folder, "proc-large");
  for (const [pid, kib] of [
    ["41", 190 * 1024],
    ["42", 30 * 1024 ** 2],
  ] as const) {
    mkdirSync(join(procRoot, pid), { recursive: true });
    writeFileSync(join(procRoot, pid, "stat"), `${pid} (x) S 1 ${"1 ".repeat(40)}`);
    const sizes = ["VmHWM", "VmRSS", "RssAnon", "VmSize"].map((name) => `${name}:\t${kib} kB\n`).join("");
    writeFileSync(join(procRoot, pid, "status"), `Name:\tx\nPid:\t${pid}\n${sizes}RssFile:\t0 kB\nRssShmem:\t0 kB\n`);
    writeFileSync(join(procRoot, pid, "smaps_rollup"), `Rss: ${kib} kB\nPss: ${kib} kB\n`);
  }
  const tree = createProcessTree();
  tree.begin(41);
  tree.begin(42);
  const collector = createProcessCollector({ procRoot, tree, searches: false });
  await collector.start({ pid: 41, command: [], held: false });
  const rows = rowsOf(collector.batches());
  expect(rows.map(({ pid, pss_bytes }) => [Number(pid), pss_bytes === null ? null : Number(pss_bytes)])).toEqual([
    [41, 190 * 2 ** 20],
    [42, null],
  ]);
  await collector.stop();
  expect(collector.costs?.()).toMatchObject([{ what: "reads of PSS", count: 1 }]);
});

describe("the process collector on a hostile /proc", () => {
  test("counts what it cannot parse, drops the row, and goes on", async () => {
    const procRoot = join(folder, "proc");
    for (const pid of ["41", String(process.pid)]) {
      mkdirSync(join(procRoot, pid, "task", pid), { recursive: true });
      writeFileSync(
        join(procRoot, pid, "stat"),
        pid === "41" ? "41 (x) S garbage" : `${pid} (bun) R 1 ${"1 ".repeat(40)}`,
      );
      writeFileSync(join(procRoot, pid, "status"), "Name:\tx\nPid:\t41\n");
      writeFileSync(join(procRoot, pid, "io"), "read_bytes: many\n");
      writeFileSync(join(procRoot, pid, "smaps_rollup"), "\0\0\0");
    }
    const collector = createProcessCollector({ procRoot });
    await collector.start({ pid: 41, command: [], held: false });
    expect(collector.batches().map((batch) => batch.rows)).toEqual([1]);
    const { ledger } = await collector.stop();
    expect(ledger.every(balances)).toBe(true);
    expect(ledger[0]).toMatchObject({
      stage: "observe",
      way: "samples",
      seen: 4,
      kept: 2,
      dropped_by: { malformed: 2 },
    });
    expect(ledger[1]?.dropped_by.malformed).toBeGreaterThan(0);
  });
});
