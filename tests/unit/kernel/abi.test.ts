import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { errnoName } from "../../../src/kernel/libc.ts";
import {
  FLAG,
  IOC,
  PERF_TYPE,
  type PerfAttr,
  perfAttrBytes,
  READ_FORMAT,
  SAMPLE,
  SOFTWARE,
} from "../../../src/kernel/perf-event.ts";
import { watchpointAttr } from "../../../src/kernel/watchpoint.ts";
import { RECORDS, recordLayout, recordStructs } from "../../../src/schema/records.ts";

/** What a C program prints, compiled with this machine's headers. */
function printedByC(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "mrm-abi-"));
  try {
    writeFileSync(join(folder, "abi.c"), text);
    const cc = Bun.spawnSync(["cc", "-o", join(folder, "abi"), join(folder, "abi.c")], { stderr: "pipe" });
    if (cc.exitCode !== 0) throw new Error(`cc failed: ${cc.stderr}`);
    return Bun.spawnSync([join(folder, "abi")]).stdout.toString();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const HEADERS =
  "#include <linux/perf_event.h>\n#include <stdio.h>\n#include <string.h>\n#include <errno.h>\n#include <sys/ioctl.h>\n";

/** struct perf_event_attr with these fields set, as the C compiler lays it out, in hex. */
function attrByC(fields: Readonly<Record<string, number | bigint>>): string {
  const set = Object.entries(fields).map(([name, value]) => `a.${name} = ${value}ull;`);
  return printedByC(
    `${HEADERS}int main(void) { struct perf_event_attr a; memset(&a, 0, sizeof a); a.size = 128; ${set.join(" ")}
     for (int i = 0; i < 128; i++) printf("%02x", ((unsigned char *)&a)[i]); return 0; }`,
  );
}

const hex = (attr: PerfAttr): string => Buffer.from(perfAttrBytes(attr)).toString("hex");

describe("struct perf_event_attr", () => {
  test("of a sampled software event is laid out as the C compiler does", () => {
    const attr: PerfAttr = {
      type: PERF_TYPE.software,
      config: SOFTWARE.page_faults_maj,
      sample_period: 12345,
      sample_type: SAMPLE.tid | SAMPLE.time | SAMPLE.cpu | SAMPLE.addr,
      flags: ["watermark"],
      wakeup: 4096,
      clockid: 1,
    };
    expect(hex(attr)).toBe(
      attrByC({
        type: 1,
        config: 6,
        sample_period: 12345,
        sample_type: 0x8e,
        watermark: 1,
        wakeup_watermark: 4096,
        clockid: 1,
      }),
    );
  });

  test("of a PMU's event is laid out as the C compiler does", () => {
    const attr: PerfAttr = {
      type: 4,
      config: 0x1cdn,
      config1: 3n,
      config2: 1n << 40n,
      sample_period: 250_007,
      sample_type: SAMPLE.ip | SAMPLE.data_src | SAMPLE.weight_struct,
      read_format: READ_FORMAT.total_time_enabled | READ_FORMAT.total_time_running,
      precise_ip: 3,
      flags: ["disabled", "exclude_guest", "use_clockid"],
      clockid: 1,
    };
    expect(hex(attr)).toBe(
      attrByC({
        type: 4,
        config: 0x1cd,
        config1: 3,
        config2: 1n << 40n,
        sample_period: 250_007,
        sample_type: 0x1008001,
        read_format: 3,
        precise_ip: 3,
        disabled: 1,
        exclude_guest: 1,
        use_clockid: 1,
        clockid: 1,
      }),
    );
  });

  test("of a watchpoint is laid out as the C compiler does, for addresses of all 64 bits", () => {
    const addr = 0xffff_8abc_def0_1238n;
    expect(hex(watchpointAttr(addr, 8, 3))).toBe(
      attrByC({
        type: 5,
        sample_period: 1,
        sample_type: 8,
        disabled: 1,
        exclude_hv: 1,
        bp_type: 3,
        bp_addr: addr,
        bp_len: 8,
      }),
    );
  });

  test("has every flag in its bit", () => {
    const all = Object.keys(FLAG) as (keyof typeof FLAG)[];
    const program = all.map(
      (flag) =>
        `memset(&a, 0, sizeof a); a.${flag} = 1; memcpy(&w, (char *)&a + 40, 8); printf("${flag} %d\\n", __builtin_ctzll(w));`,
    );
    const printed = printedByC(
      `${HEADERS}int main(void) { struct perf_event_attr a; unsigned long long w; ${program.join("\n")} return 0; }`,
    );
    expect(printed).toBe(all.map((flag) => `${flag} ${FLAG[flag]}\n`).join(""));
  });
});

test("constants of perf events are those of the header", () => {
  const names = {
    PERF_TYPE_HARDWARE: PERF_TYPE.hardware,
    PERF_TYPE_SOFTWARE: PERF_TYPE.software,
    PERF_TYPE_TRACEPOINT: PERF_TYPE.tracepoint,
    PERF_TYPE_BREAKPOINT: PERF_TYPE.breakpoint,
    PERF_COUNT_SW_CPU_CLOCK: SOFTWARE.cpu_clock,
    PERF_COUNT_SW_PAGE_FAULTS: SOFTWARE.page_faults,
    PERF_COUNT_SW_PAGE_FAULTS_MIN: SOFTWARE.page_faults_min,
    PERF_COUNT_SW_PAGE_FAULTS_MAJ: SOFTWARE.page_faults_maj,
    PERF_COUNT_SW_DUMMY: SOFTWARE.dummy,
    PERF_SAMPLE_IP: SAMPLE.ip,
    PERF_SAMPLE_TID: SAMPLE.tid,
    PERF_SAMPLE_TIME: SAMPLE.time,
    PERF_SAMPLE_ADDR: SAMPLE.addr,
    PERF_SAMPLE_ID: SAMPLE.id,
    PERF_SAMPLE_CPU: SAMPLE.cpu,
    PERF_SAMPLE_WEIGHT: SAMPLE.weight,
    PERF_SAMPLE_DATA_SRC: SAMPLE.data_src,
    PERF_SAMPLE_WEIGHT_STRUCT: SAMPLE.weight_struct,
    PERF_FORMAT_TOTAL_TIME_ENABLED: READ_FORMAT.total_time_enabled,
    PERF_FORMAT_TOTAL_TIME_RUNNING: READ_FORMAT.total_time_running,
    PERF_EVENT_IOC_PERIOD: IOC.period,
    PERF_EVENT_IOC_ENABLE: IOC.enable,
    PERF_EVENT_IOC_DISABLE: IOC.disable,
    PERF_EVENT_IOC_REFRESH: IOC.refresh,
    PERF_EVENT_IOC_RESET: IOC.reset,
    PERF_EVENT_IOC_SET_OUTPUT: IOC.set_output,
    PERF_EVENT_IOC_SET_BPF: IOC.set_bpf,
  };
  const prints = Object.keys(names).map((name) => `printf("${name} %llu\\n", (unsigned long long)${name});`);
  const printed = printedByC(`${HEADERS}int main(void) { ${prints.join("\n")} return 0; }`);
  expect(printed).toBe(
    Object.entries(names)
      .map(([name, value]) => `${name} ${value}\n`)
      .join(""),
  );
});

test("errno has the name of the header where it has one, else its number", () => {
  const known = Array.from({ length: 530 }, (_, errno) => errno).filter(
    (errno) => !errnoName(errno).startsWith("errno "),
  );
  expect(known.length).toBeGreaterThan(20);
  const prints = known
    // ENOTSUPP is the kernel's own; it is in no header of user space.
    .filter((errno) => errno !== 524)
    .map((errno) => `printf("%d\\n", ${errnoName(errno)});`);
  expect(printedByC(`${HEADERS}int main(void) { ${prints.join("\n")} return 0; }`)).toBe(
    known
      .filter((errno) => errno !== 524)
      .map((errno) => `${errno}\n`)
      .join(""),
  );
  expect(errnoName(12345)).toBe("errno 12345");
});

test("records shared with the kernel programs have the offsets of the C compiler", () => {
  const names = Object.keys(RECORDS) as (keyof typeof RECORDS)[];
  const prints = names.flatMap((name) => {
    const fields = Object.keys(recordLayout(name).offsets);
    return fields.map((field) => `printf("${name}.${field} %zu\\n", __builtin_offsetof(struct ${name}, ${field}));`);
  });
  const structs = recordStructs().join("\n");
  const printed = printedByC(
    `#include <stdio.h>\n#include <linux/types.h>\n${structs}\nint main(void) { ${prints.join("\n")} return 0; }`,
  );
  const ours = names.flatMap((name) =>
    Object.entries(recordLayout(name).offsets).map(([field, offset]) => `${name}.${field} ${offset}\n`),
  );
  expect(printed).toBe(ours.join(""));
});
