import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseScriptLine } from "../../../../src/collect/perf-mem/script/line.ts";
import { MEM_LOADS, perfData, recordWriter } from "../../../fixtures/perf-data.ts";
import { type ReadFile, type Row, readPath } from "../../../fixtures/perf-rows.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-perf-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function perf(args: readonly string[]): Promise<string> {
  const child = Bun.spawn(["timeout", "-k", "5", "60", "perf", ...args], { stdout: "pipe", stderr: "pipe" });
  const [text, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`perf ${args.join(" ")}: ${errors}`);
  return text;
}

/** Samples as `perf script` prints them, in a form that both sides can be brought to. */
async function printed(path: string, fields: string): Promise<string[]> {
  const text = await perf(["script", "--ns", "-i", path, "-F", fields]);
  return text.split("\n").flatMap((line) => {
    const sample = parseScriptLine(line);
    if (sample === null) return [];
    const { time_ns, pid, tid, cpu, address, data_src, weight, ip } = sample;
    return [[time_ns, pid, tid, cpu, address, data_src, weight, ip].join(" ")];
  });
}

function ours(
  rows: readonly Row[] | undefined,
  has: { readonly dataSrc: boolean; readonly weight: boolean },
): string[] {
  return (rows ?? []).map((row) =>
    [
      row.timestamp_ns,
      row.pid,
      row.tid,
      row.cpu,
      row.address,
      has.dataSrc ? row.data_src : null,
      has.weight ? (row.weight_cycles ?? 0) : null,
      row.ip,
    ].join(" "),
  );
}

const sorted = (lines: readonly string[]): string[] => [...lines].sort();

// perf 6.1 forgets the byte order of events that come through a pipe: there is nothing to compare with.
describe("a file of memory samples", () => {
  for (const [mode, bigEndian, compressed] of [
    ["file", false, false],
    ["pipe", false, false],
    ["file", true, false],
    ["file", false, true],
  ] as const) {
    test(`gives what perf script prints of it: ${mode} mode, ${bigEndian ? "big" : "little"}-endian${compressed ? ", compressed" : ""}`, async () => {
      const write = recordWriter(bigEndian);
      const records = [write.comm(MEM_LOADS, 100, "my worker 1", 5n)];
      for (let i = 0; i < 3000; i++) {
        const sample = {
          ip: 0x400010n + BigInt(i % 7),
          pid: 100,
          tid: 100 + (i % 2),
          time: 1_000_000n + BigInt(i * 977),
          addr: 0x7f00_0000_0000n + BigInt(i * 64),
          cpu: i % 4,
          weight: BigInt(i % 500),
          dataSrc: 0x68100142n + (BigInt(i % 46) << 33n),
        };
        records.push(write.sample(MEM_LOADS, sample));
      }
      const path = join(folder, `${mode}-${bigEndian}-${compressed}.data`);
      writeFileSync(path, await perfData({ mode, bigEndian, compressed, events: [MEM_LOADS], records }));
      const { rows } = await readPath(path);
      const expected = await printed(path, "comm,pid,tid,cpu,time,event,addr,data_src,weight,ip");
      expect(expected.length).toBe(3000);
      expect(sorted(ours(rows.access, { dataSrc: true, weight: true }))).toEqual(sorted(expected));
    });
  }
});

/** Touches 4 MiB page by page, ten times. */
const TOUCH =
  "import mmap\nfor _ in range(10):\n  m=mmap.mmap(-1,1<<22)\n  for i in range(0,1<<22,4096): m[i]=1\n  m.close()";

describe("a recording of page faults by the installed perf", () => {
  const variants: readonly (readonly [name: string, options: readonly string[]])[] = [
    ["plain", []],
    ["compressed", ["-z"]],
    ["with call chains, registers and stacks", ["-g", "--user-regs=ip,sp", "--intr-regs=ip,ax", "-W", "--phys-data"]],
  ];
  for (const [name, options] of variants) {
    let recorded: ReadFile;
    let expected: string[];
    beforeAll(async () => {
      const path = join(folder, `${name}.data`);
      const words = ["-e", "page-faults", "-c", "1", "-d", "-k", "CLOCK_MONOTONIC", "--sample-cpu", ...options];
      await perf(["record", "-q", ...words, "-o", path, "--", "/usr/bin/python3", "-c", TOUCH]);
      recorded = await readPath(path);
      expected = await printed(
        path,
        "comm,pid,tid,cpu,time,event,addr,ip".replace(options.includes("-g") ? ",ip" : "", ""),
      );
    });

    test(`gives every fault as perf script prints it: ${name}`, () => {
      const { file, rows } = recorded;
      expect(file.broken).toBeNull();
      expect(file.account.badRecords).toBe(0);
      expect(expected.length).toBeGreaterThan(10_000);
      const none = { dataSrc: false, weight: false };
      const withIp = ours(rows.fault, none);
      const mine = options.includes("-g") ? withIp.map((line) => line.replace(/\d+$/, "")) : withIp;
      expect(sorted(mine)).toEqual(sorted(expected));
    });

    test(`says what was recorded, and its mappings: ${name}`, () => {
      const { file, rows } = recorded;
      expect(file.facts.command?.slice(0, 2)).toEqual(
        expect.arrayContaining([expect.stringMatching(/perf$/), "record"]),
      );
      expect(file.facts.arch).toBe("x86_64");
      expect(file.events[0]?.name).toMatch(/page-faults/);
      expect(file.events[0]?.attribute.clockid).toBe(1);
      expect(rows.mapping?.some(({ kind }) => kind === "exec")).toBe(true);
      expect(rows.mapping?.some(({ path }) => String(path).includes("python3"))).toBe(true);
      expect(rows.mapping?.every(({ timestamp_ns }) => Number(timestamp_ns) > 0)).toBe(true);
      expect(file.first_ns).toBeLessThan(file.last_ns);
    });
  }

  test("is read from a pipe's bytes too", async () => {
    const path = join(folder, "pipe.data");
    const child = Bun.spawn(
      [
        "timeout",
        "60",
        "perf",
        "record",
        "-q",
        "-e",
        "page-faults",
        "-c",
        "1",
        "-d",
        "-o",
        "-",
        "--",
        "/usr/bin/python3",
        "-c",
        TOUCH,
      ],
      { stdout: Bun.file(path), stderr: "ignore" },
    );
    expect(await child.exited).toBe(0);
    const { file, rows } = await readPath(path);
    expect(file.pipe).toBe(true);
    expect(file.broken).toBeNull();
    expect(file.events[0]?.name).toMatch(/page-faults/);
    const expected = await printed(path, "comm,pid,tid,time,event,addr,ip");
    expect(rows.fault?.length).toBe(expected.length);
    expect(rows.fault?.length).toBeGreaterThan(10_000);
  });
});
