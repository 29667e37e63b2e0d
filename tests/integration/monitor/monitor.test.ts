import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Subprocess } from "bun";
import { MEMORY_CSV_HEADER } from "../../../src/report/memory-csv.ts";
import { childrenOfTests } from "../../fixtures/children-of-tests.ts";
import { waitUntil } from "../../fixtures/wait-until.ts";
import { jsonOf, type Started, startCli } from "../run/cli.ts";

const children = childrenOfTests();
const monitors: Started[] = [];
const folders: string[] = [];
afterEach(() => {
  for (const monitor of monitors.splice(0)) monitor.signal("SIGKILL");
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function csvPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "mrm-monitor-"));
  folders.push(folder);
  return join(folder, "memory.csv");
}

/** A process with this name in its command line that holds so many MiB until its stdin ends; with a child below it, where asked, which ends with it however it ends. */
function holder(name: string, mib: number, child = false): Subprocess<"pipe", "pipe"> {
  const script = `import os,subprocess,sys
b=bytearray(${mib}<<20); b[::4096]=bytes([1])*len(b[::4096])
c=${child ? "subprocess.Popen(['cat'],stdin=subprocess.PIPE)" : "None"}
print('up',flush=True); sys.stdin.read()
c and (c.kill(), c.wait())`;
  const spawned = Bun.spawn(["python3", "-c", script, name], { stdin: "pipe", stdout: "pipe" });
  children.push(spawned);
  return spawned;
}

async function up(of: Subprocess<"pipe", "pipe">): Promise<void> {
  await of.stdout.getReader().read();
}

function monitor(...args: readonly string[]): Started {
  const started = startCli(["monitor", "--interval", "0.02", ...args]);
  monitors.push(started);
  return started;
}

function rowsOf(text: string): Record<string, string>[] {
  const [header = "", ...lines] = text.trimEnd().split("\n");
  const names = header.split(",");
  return lines.map((line) => Object.fromEntries(line.split(",").map((field, i) => [names[i] ?? "", field])));
}

const column = (text: string, name: string): number[] => rowsOf(text).map((row) => Number(row[name]));

describe("monitor", () => {
  test("waits for a name without taking itself for it, follows its next process, and stops when none comes", async () => {
    const name = `mrm-held-${process.pid}`;
    const path = csvPath();
    const running = monitor("--name", name, "--output", path);
    await running.said("waiting for");
    const onlyHeader = (): boolean => readFileSync(path, "utf8") === `${MEMORY_CSV_HEADER}\n`;
    expect(await waitUntil(onlyHeader)).toBe(true);
    await Bun.sleep(300);
    expect(onlyHeader()).toBe(true);
    const first = holder(name, 64);
    await running.said(`(${first.pid})`);
    await up(first);
    const seen = (pid: number, rss_mb: number) =>
      rowsOf(readFileSync(path, "utf8")).some((row) => Number(row.pid) === pid && Number(row.rss_mb) > rss_mb);
    expect(await waitUntil(() => seen(first.pid, 64))).toBe(true);
    first.stdin.end();
    await first.exited;
    const second = holder(name, 16);
    await running.said(`the process is now`);
    await up(second);
    expect(await waitUntil(() => seen(second.pid, 16))).toBe(true);
    second.stdin.end();
    const ended = await running.ended;
    expect(ended.exitCode).toBe(0);
    expect(ended.stderr).toContain("the process has ended");
    const text = readFileSync(path, "utf8");
    expect([...new Set(column(text, "pid"))]).toEqual([first.pid, second.pid]);
    expect(Math.max(...column(text, "rss_mb"))).toBeGreaterThan(64);
    expect(Math.max(...column(text, "rss_mb"))).toBeLessThan(100);
    expect(rowsOf(text).every((row) => row.label === name)).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("counts the whole tree, splits its memory, and agrees with the kernel", async () => {
    const held = holder("tree", 32, true);
    await up(held);
    const running = monitor("--pid", String(held.pid), "--max-samples", "10", "--label", "tree");
    const ended = await running.ended;
    expect(ended.exitCode).toBe(0);
    const rows = rowsOf(ended.stdout);
    expect(rows).toHaveLength(10);
    const last = rows.at(-1) ?? {};
    expect(last.children).toBe("1");
    const kernel = readFileSync(`/proc/${held.pid}/smaps_rollup`, "utf8");
    const rss = Number(/^Rss:\s+(\d+)/m.exec(kernel)?.[1]) / 1024;
    // The child's own memory comes on top: 1 to 3 MiB.
    expect(Number(last.rss_mb)).toBeGreaterThan(rss);
    expect(Number(last.rss_mb)).toBeLessThan(rss + 4);
    expect(Number(last.rss_anon_mb) + Number(last.rss_file_mb) + Number(last.rss_shmem_mb)).toBeCloseTo(
      Number(last.rss_mb),
      2,
    );
    // Shared pages count once: less than RSS, more than what only the parent's bytearray has.
    expect(Number(last.pss_mb)).toBeGreaterThan(32);
    expect(Number(last.pss_mb)).toBeLessThan(Number(last.rss_mb));
  });

  test("waits with its lines for a reader that is slow, and loses none", async () => {
    const held = holder("slow", 8);
    await up(held);
    const cli = new URL("../../../src/cli.ts", import.meta.url).pathname;
    // Some pipes full.
    const rows = "2000";
    const command = `"$0" "$1" monitor --quiet --pid $2 --interval 0.001 --max-samples ${rows} | (sleep 3; wc -l)`;
    const child = Bun.spawn(["sh", "-c", command, process.execPath, cli, String(held.pid)], { stderr: "pipe" });
    children.push(child);
    expect((await new Response(child.stdout).text()).trim()).toBe("2001");
    expect(await new Response(child.stderr).text()).toBe("");
  });

  test("keeps whole lines of all that it saw when it is killed", async () => {
    const held = holder("killed", 8);
    await up(held);
    const path = csvPath();
    const running = monitor("--pid", String(held.pid), "--output", path);
    await running.said("watching");
    expect(await waitUntil(() => rowsOf(readFileSync(path, "utf8")).length > 7)).toBe(true);
    running.signal("SIGKILL");
    await running.exited;
    const text = readFileSync(path, "utf8");
    expect(text.endsWith("\n")).toBe(true);
    expect(rowsOf(text).length).toBeGreaterThan(5);
    expect(rowsOf(text).every((row) => Object.values(row).every((field) => field !== undefined))).toBe(true);
  });

  test("ends in order on a signal and after its time, and says as JSON what it saw", async () => {
    const held = holder("signalled", 8);
    await up(held);
    const stopped = monitor("--pid", String(held.pid), "--output", csvPath());
    await stopped.said("watching");
    stopped.signal("SIGINT");
    expect((await stopped.ended).exitCode).toBe(130);
    const path = csvPath();
    const timed = await monitor("--pid", String(held.pid), "--output", path, "--duration", "0.3", "--json").ended;
    expect(timed.exitCode).toBe(0);
    const summary = jsonOf(timed);
    expect(summary).toMatchObject({ stopped_by: "duration", roots: [held.pid], output: path });
    expect(summary.samples).toBe(rowsOf(readFileSync(path, "utf8")).length);
  });

  test("refuses what makes no sense with the fix, and leaves no file", async () => {
    const path = csvPath();
    const both = await monitor("--name", "a", "--pid", "1", "--output", path).ended;
    expect([both.exitCode, existsSync(path)]).toEqual([2, false]);
    expect((await monitor("--pid", "4194303").ended).exitCode).toBe(6);
    expect((await monitor("--name", "no-such-process", "--wait", "0.2").ended).exitCode).toBe(6);
    expect((await monitor("--nmae", "a").ended).stderr).toContain("did you mean --name?");
  });
});
