import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  parseBusyNs,
  parseChildren,
  parseField,
  parsePressureSomeNs,
  parseSchedstat,
  parseStat,
  parseStatusMemory,
  parseU64,
} from "../../../src/target/proc-text.ts";

const U64_MAX = 2n ** 64n - 1n;
const u64 = fc.bigInt({ min: 0n, max: U64_MAX });
const kib = fc.bigInt({ min: 0n, max: U64_MAX / 1024n });
const ticks = fc.bigInt({ min: 0n, max: U64_MAX / 10_000_000n });
/** Any bytes, and bytes that look like a file of /proc. */
const hostile = fc.oneof(
  fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes).toString("latin1")),
  fc
    .array(
      fc.constantFrom(
        "some",
        "cpu  ",
        "total=",
        "VmRSS:",
        "kB",
        "\n",
        " ",
        ")",
        "(",
        "-1",
        "99999999999999999999",
        "7",
        "7 7",
        "Pid:",
      ),
      {
        maxLength: 60,
      },
    )
    .map((parts) => parts.join("")),
);

describe("parsers of /proc", () => {
  test("never throw and never give a figure outside u64, whatever they are fed", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const stat = parseStat(text);
        const memory = parseStatusMemory(text);
        const waits = parseSchedstat(text);
        const figures: (bigint | null)[] = [
          ...(stat ? [stat.minor_faults, stat.major_faults, stat.user_ticks, stat.system_ticks, stat.start_ticks] : []),
          ...(memory ? Object.values(memory) : []),
          ...(waits ? [waits.ran_ns, waits.waited_ns] : []),
          parseField(text, "VmRSS"),
          parsePressureSomeNs(text),
          parseBusyNs(text),
        ];
        for (const value of figures) {
          if (value !== null) expect(value >= 0n && value <= U64_MAX).toBe(true);
        }
        for (const pid of parseChildren(text).pids) expect(pid > 0 && pid <= 0x7fffffff).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test("read back every stat line, whatever the name of the process holds", () => {
    const name = fc.string({ maxLength: 15, unit: "binary" });
    fc.assert(
      fc.property(name, u64, u64, ticks, ticks, u64, (comm, minor, major, user, system, start) => {
        const line = `7 (${comm}) S 3 7 7 0 -1 4194304 ${minor} 0 ${major} 0 ${user} ${system} 11 31 20 0 5 0 ${start} 1 1\n`;
        expect(parseStat(line)).toEqual({
          state: "S",
          ppid: 3,
          process_group: 7,
          minor_faults: minor,
          major_faults: major,
          user_ticks: user,
          system_ticks: system,
          reaped_ticks: 42n,
          threads: 5,
          start_ticks: start,
        });
      }),
    );
  });

  test("read back every memory figure of status in bytes", () => {
    fc.assert(
      fc.property(kib, kib, kib, kib, kib, kib, (size, peak, rss, anon, file, shmem) => {
        const text = `Name:\tx\nPid:\t7\nVmSize:\t ${size} kB\nVmHWM:\t ${peak} kB\nVmRSS:\t${rss} kB\nRssAnon:\t${anon} kB\nRssFile:\t${file} kB\nRssShmem:\t${shmem} kB\n`;
        expect(parseStatusMemory(text)).toEqual({
          vms_bytes: size * 1024n,
          rss_bytes: rss * 1024n,
          rss_anon_bytes: anon * 1024n,
          rss_file_bytes: file * 1024n,
          rss_shmem_bytes: shmem * 1024n,
          rss_peak_bytes: peak * 1024n,
        });
      }),
    );
  });

  test("take digits for a u64 exactly up to its greatest value", () => {
    fc.assert(fc.property(u64, (value) => parseU64(value.toString()) === value));
    expect(parseU64("18446744073709551616")).toBeNull();
    expect(parseU64("-1")).toBeNull();
    expect(parseU64("1e3")).toBeNull();
    expect(parseU64("")).toBeNull();
  });

  test("find a field at the start of a line only", () => {
    expect(parseField("cancelled_write_bytes: 5\nwrite_bytes: 9\n", "write_bytes")).toBe(9n);
    expect(parseField("cancelled_write_bytes: 5\n", "write_bytes")).toBeNull();
    expect(parseField("Pss:  3 MB\n", "Pss")).toBeNull();
  });
});
