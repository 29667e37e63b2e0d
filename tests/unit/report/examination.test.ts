import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { renderExamination } from "../../../src/report/examination.ts";
import { CHECK_STATUSES, type Check, type Examination } from "../../../src/schema/examination.ts";

const TERMINAL = { width: 60, color: false, unicode: false };
const check = (name: string, status: Check["status"], summary: string, fix: string | null = null): Check => ({
  name,
  status,
  summary,
  fix,
  data: {},
});

function examination(checks: readonly Check[], exit_code = 0): Examination {
  return {
    schema_version: "1.0",
    status: "ok",
    exit_code,
    checks,
    sources: {
      auto: "ibs,watch",
      candidates: [
        { source: "pebs", taken: false, why_not: "no PMU", note: null },
        { source: "ibs", taken: true, why_not: null, note: "untested on hardware" },
        { source: "watch", taken: true, why_not: null, note: null },
      ],
    },
  };
}

describe("the examination as lines", () => {
  test("stands in columns, with fixes below their line and the reasons of the sources", () => {
    const checks = [
      check("btf", "ok", "there"),
      check("disk", "fail", "full", "rm -r old"),
      check("pmu", "info", "none"),
    ];
    expect(renderExamination(examination(checks, 3), TERMINAL)).toBe(
      [
        "OK    btf   there",
        "FAIL  disk  full",
        "            fix: rm -r old",
        "INFO  pmu   none",
        "",
        "access source: ibs,watch",
        "  pebs   not taken: no PMU",
        "  ibs    taken; untested on hardware",
        "  watch  taken",
        "",
        "not ready: 1 OK, 1 INFO, 0 WARN, 1 FAIL",
        "",
      ].join("\n"),
    );
  });

  test("has a fix whole on a line of its own where it is longer than its column, in any terminal, and says it once", () => {
    const long = `sudo setpriv --inh-caps=${"+bpf,".repeat(20)} mrm-trace run`;
    const fix = `sudo mrm-trace run; or as yourself: ${long}`;
    const found = examination([check("user", "fail", "nobody", fix), check("CAP_BPF", "fail", "missing", fix)], 3);
    for (const width of [20, 40, 100]) {
      const lines = renderExamination(found, { ...TERMINAL, width }).split("\n");
      const at = lines.indexOf("      fix: sudo mrm-trace run");
      expect(lines.slice(at + 1, at + 3)).toEqual(["           or as yourself:", `           ${long}`]);
      expect(lines.filter((line) => line.includes("setpriv"))).toHaveLength(1);
      expect(lines.map((line) => line.trim())).toContain("fix: see that of user");
    }
  });

  test("says a fix again that is no longer than the words for where it stands", () => {
    const fix = "sudo mrm-trace run";
    const found = examination([check("CAP_SYS_ADMIN", "fail", "missing", fix), check("demo", "info", "none", fix)], 3);
    const text = renderExamination(found, { ...TERMINAL, width: 100 });
    expect(text.match(/fix: sudo mrm-trace run$/gm)).toHaveLength(2);
    expect(text).not.toContain("see that of");
  });

  test("loses nothing in a terminal that is narrower than its columns", () => {
    const found = examination([check("perf_event_paranoid", "ok", "events of whole CPUs are allowed to all")]);
    const text = renderExamination(found, { ...TERMINAL, width: 30 });
    expect(text).not.toContain("...");
    expect(text.slice(0, text.indexOf("\n\n")).split(/\s+/).join(" ")).toBe(
      "OK perf_event_paranoid events of whole CPUs are allowed to all",
    );
  });

  test("never loses a word of a long line, and is no wider than the terminal but for a fix", () => {
    const words = fc.array(fc.stringMatching(/^[a-z]{1,12}$/), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(words, words, fc.constantFrom(...CHECK_STATUSES), (summary, fix, status) => {
        const found = examination([check("name", status, summary.join(" "), fix.join(" "))]);
        const lines = renderExamination(found, TERMINAL).split("\n");
        const others = lines.filter((line) => !line.includes("fix: "));
        expect(others.every((line) => line.length <= TERMINAL.width)).toBe(true);
        const told = lines.slice(0, lines.indexOf("")).join(" ").split(/\s+/);
        expect(told).toEqual([status.toUpperCase(), "name", ...summary, "fix:", ...fix].filter((word) => word !== ""));
      }),
    );
  });

  test("shows names from outside without what could move the cursor", () => {
    const found = examination([check("watch_registers", "warn", "held by \x1b[2Jevil\n (pid 7)", "kill 7")]);
    expect(renderExamination(found, TERMINAL)).toContain("?[2Jevil? (pid 7)");
  });
});
