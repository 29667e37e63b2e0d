import { describe, expect, test } from "bun:test";
import { parseScriptLine, type ScriptSample } from "../../../../src/collect/perf-mem/script/line.ts";

const DECODED = "|OP LOAD|LVL L1 or L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A";
const EVENT = "cpu/mem-loads,ldlat=30/P";

/** Lines in the forms that versions and field lists of `perf script` give, each with what it says. */
const LINES: readonly (readonly [form: string, line: string, Partial<ScriptSample>])[] = [
  [
    "all default fields",
    `     x 99 6026386.417193:  19946 ${EVENT}:  7fff85832284   68100142 ${DECODED}   29   4006a0 [unknown] (/home/x)`,
    {
      pid: 99,
      tid: 99,
      cpu: null,
      time_ns: 6026386417193000n,
      period: 19946n,
      event: EVENT,
      address: 0x7fff85832284n,
      data_src: 0x68100142n,
      weight: 29,
      ip: 0x4006a0n,
    },
  ],
  [
    "a name with spaces and digits, pid/tid, cpu and nanoseconds",
    `  my worker 1 2   100/101   [003]     0.001000123: ${EVENT}:  7f0000000000  10268100142 ${DECODED}   0   400010`,
    { pid: 100, tid: 101, cpu: 3, time_ns: 1000123n, weight: 0, ip: 0x400010n },
  ],
  [
    "the fields of the Python package: the weight is last",
    `  bash  6213   559.807189: ${EVENT}:     7f0000000000     1026a100142 ${DECODED}     300`,
    { pid: 6213, time_ns: 559807189000n, address: 0x7f0000000000n, data_src: 0x1026a100142n, weight: 300, ip: null },
  ],
  [
    "the same with symbol and file before the data source",
    `  bash  6213   559.807189: ${EVENT}:     7f0000000000 std::f(int)+0x10 (/lib/a.so) 1026a100142 ${DECODED}     300`,
    { address: 0x7f0000000000n, data_src: 0x1026a100142n, weight: 300 },
  ],
  [
    "the short form of pid, time and address",
    "  6213 559.807189: 7f0000001040",
    { pid: 6213, address: 0x7f0000001040n, event: "" },
  ],
  [
    "a modifier in the event's name, and three numbers of latency",
    `  java 7 [000] 1.5: 1  cpu_core/mem-loads,ldlat=30/P:u: 7f00 40268100142 ${DECODED}  5  33  0 7f8cc2ba08 f+0x1 (/a b)`,
    { event: "cpu_core/mem-loads,ldlat=30/P:u", weight: 5, ip: 0x7f8cc2ba08n, time_ns: 1500000000n },
  ],
  [
    "the grammar without OP and LVL, and no address",
    "  ls 14753 [011]  3678.072400:   1  l1d-miss:    88000182 L1 miss|SNP N/A|TLB Walker hit|LCK No|BLK  N/A ffffa7c22b4b2a00 [unknown] ([kernel.kallsyms])",
    { event: "l1d-miss", address: null, data_src: 0x88000182n, weight: null, ip: 0xffffa7c22b4b2a00n },
  ],
  [
    "address and data source without a space between",
    `  x 9 1.0: ${EVENT}: 7f0000000640ffff0000000068100142 ${DECODED} 1`,
    { address: 0x7f0000000640ffffn, data_src: 0x68100142n, weight: 1 },
  ],
  [
    "a page fault: instruction, symbol and file behind the address",
    "  python3 100/100 [001]  5.000000001: page-faults:  7f12000 556677aabb memset+0x4 (/usr/lib/libc.so.6)",
    { event: "page-faults", address: 0x7f12000n, ip: 0x556677aabbn, data_src: null },
  ],
  [
    "a page fault that was printed without its address: the instruction is none",
    "  python3 100/100 [001]  5.000000001:          1 page-faults:      556677aabb memset+0x4 (/usr/lib/libc.so.6)",
    { event: "page-faults", address: null, ip: 0x556677aabbn, data_src: null },
  ],
  [
    "a timer's sample in a function whose name is of hex digits",
    "  prog 100 [001]  5.000000001:     250000 cpu-clock:u:      556677aabb add (/usr/bin/prog)",
    { event: "cpu-clock:u", address: null, ip: 0x556677aabbn },
  ],
  [
    "an address alone behind the event",
    "  prog 100 [001]  5.000000001: mem:0x601040:rw: 601040",
    { address: 0x601040n, ip: null },
  ],
  [
    "an event that perf has no name for",
    `  x 9 1.0: raw 0x1cd:pp: 7f00 68100142 ${DECODED} 3`,
    { event: "raw 0x1cd:pp", address: 0x7f00n, weight: 3 },
  ],
];

describe("a line of perf script", () => {
  for (const [form, line, expected] of LINES) {
    test(`with ${form}`, () => {
      expect(parseScriptLine(line)).toMatchObject(expected);
    });
  }

  for (const line of [
    "",
    "# comment",
    "no sample",
    "x 9 1.0:",
    "x 1.0: e: 7f",
    "Warning: lost 1 chunk",
    ":::",
    `${" ".repeat(60_000)}1.1`,
  ]) {
    test(`that is none is not taken for one: ${JSON.stringify(line.slice(0, 30))}`, () => {
      const before = process.cpuUsage();
      expect(parseScriptLine(line)).toBeNull();
      expect(process.cpuUsage(before).user).toBeLessThan(2e6);
    });
  }
});
