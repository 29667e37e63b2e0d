import { describe, expect, test } from "bun:test";
import { renderAnswer } from "../../../src/report/answer.ts";
import { renderRun } from "../../../src/report/table.ts";
import type { RunReport } from "../../../src/schema/run-json.ts";
import { demoReport, metricRow, plainReport } from "../../fixtures/run-report.ts";

const plain = (width: number) => ({ width, color: false, unicode: true });

describe("the report on a terminal", () => {
  test("puts two classes side by side at 80 columns", () => {
    expect(renderRun(demoReport(), plain(80))).toMatchInlineSnapshot(`
      "mrm-trace  demo-110m  20261121T101500Z-3fa2
      command    mrm-trace-demo --model /root/.cache/mrm-trace/demo-110m-q8_0-1.gguf …
      process    pid 4242, 2 processes, 9 threads, 33.4 s, exit 0
      tokens     64 prompt, 4213 decoded, 140/s (153/s decoding), first TTFT 213 ms
      collector  ebpf: mapping, fault, engine, watch; no pebs or ibs: this machine has
                 no PMU
      collector  process: proc

                     weight                        kv_cache
      ─────────────────────────────────────────────────────────────────────────
      most at one moment, whole run
        mapped       118 MiB                       36.0 MiB
      seen in the run
        regions      201                           24
        access rows  8421                          9120
      per byte and token
        reads        2.00 [1.97, 2.02] 64 a        0.962 [0.871, 1.04] 118 a
        writes       0 [0, 3.10e-5] 64 a           2.44e-4 [2.10, 2.81] 118 a
      bandwidth
        read         15.1 GiB/s [14.9, 15.3] 64 a  868 MiB/s [782, 945] 118 a
      hits in one pass
        mean         2 [2, 2] 64 a                 1 [1, 1.02] 118 a
      between accesses
        p50          7.12 ms [7.10, 7.15] 64 b     7.13 ms [7.10, 7.19] 118 b
        p99          8.40 ms [8.00, 12.0] 64 b     9.10 ms [8.20, 31.0 s] 118 b
      writes
        reads/write  not identifiable (3)          3941 [3502, 4212] 118 a
        once, 8 B    -                             1 [0.969, 1] 118 c
        once, 64 B   -                             1 [0.840, 1] 21 d
      age at read
        p50          -                             14.9 s [14.1, 15.8] 118 a
      retention
        p50          not identifiable (3)          ≥ 28.1 s 118/104c e (4)
        p99          -                             ≥ 28.1 s 118/104c e (4)
      working set
        touched      113 MiB [108, 114] 64 a       22.9 MiB [20.9, 24.8] 4213 f
      managed retention
        suitability  high 64 g                     high 64 g

                     activation                    runtime
      ───────────────────────────────────────────────────────────────
      most at one moment, whole run
        mapped       4.20 MiB                      58.2 MiB
      seen in the run
        regions      6                             311
        access rows  840                           39
      per byte and token
        reads        11.4 [6.72, 18.9] 41 a        insufficient 9 (1)
        writes       5.81 [3.40, 9.77] 41 a        insufficient 9 (1)
      bandwidth
        read         -                             -
      hits in one pass
        mean         3.20 [2.10, 4.40] 41 a        -
      between accesses
        p50          ≤ 16.0 us 41 b (2)            -
        p99          -                             -
      writes
        reads/write  1.96 [1.80, 2.10] 41 a        -
        once, 8 B    0.0200 [0, 0.130] 41 c        -
        once, 64 B   -                             -
      age at read
        p50          81.0 us [54.0, 120] 41 a      -
      retention
        p50          4.10 ms [3.20, 5.00] 41/3c e  -
        p99          -                             -
      working set
        touched      insufficient 41 (5)           -
      managed retention
        suitability  low 64 g                      -

           without figures: vdso mapped 8.00 KiB in 2 regions

      a cell reads: value [95 % interval, in the value's unit] samples/censored method
      (reason)
         a watch, decode, 8 B grain: Horvitz-Thompson ratio, block bootstrap by token
         b watch, decode, 8 B grain: weighted quantile of intervals between passes,
           block bootstrap by token
         c watch, decode, 8 B grain: Clopper-Pearson
         d watch, decode, 64 B grain: Clopper-Pearson
         e watch, decode, 8 B grain: Kaplan-Meier, log-log Greenwood
         f step, decode, 8 B grain: count of engine steps, exact
         g watch, whole run: rule of docs/metrics.md
       (1) insufficient: 9 watched addresses were hit, 30 are needed
       (2) bound: most intervals are shorter than one trap
       (3) not identifiable: no write in the run
       (4) bound: more than half of the rows were alive at the end of the run
       (5) insufficient: coverage 0.31, 0.5 is needed

      validity   marginal
                 CPU of the machine before the run 17.2 %, clean is below 15
      unmeasured thermal throttling, peak temperature; this machine does not tell
      cost       process slowed by 0.553 % (0.491 to 2.14 %) (model); 18.4k traps in
                 166 ms, BPF 12.1 ms
                 within --budget: watch traps 0.403 %, watch retargets 0.041 %
                 not bound by --budget: engine probes 0.098 %, faults recorded 0.0107
                 %
                 tracer 3.12 % of one CPU, 92.1 MiB of memory, 31.3 % of the process's
                 RSS and 0.41 % of MemAvailable
                 the process waited 0.41 % of its CPU time for a CPU that the tracer
                 had
                 machine before the run 17.2 % busy
      check      decoding told reads from writes as a pair of registers did in 153 of
                 153 accesses
      lost       13 of 80.3k events (fault 0.0212 %); about 0.595 % of process unseen;
                 14 filtered on purpose
                 fault, ring: 13 ring full
                 process, observe (samples): about 4 never seen
      unlabelled 0 % of 18.4k accesses
      warning    12 tensors were placed before the probes were attached; they were
                 found in the graph
      files      results/demo-110m/20261121T101500Z-3fa2
                 metrics.csv for people, metrics.parquet every figure,
                 region_map.parquet what lay where, capture/ what was observed
      "
    `);
  });

  test("breaks the text less at 120 columns, which are too few for four classes side by side", () => {
    expect(renderRun(demoReport(), plain(120))).toMatchInlineSnapshot(`
      "mrm-trace  demo-110m  20261121T101500Z-3fa2
      command    mrm-trace-demo --model /root/.cache/mrm-trace/demo-110m-q8_0-1.gguf --seconds 30 --threads 1
      process    pid 4242, 2 processes, 9 threads, 33.4 s, exit 0
      tokens     64 prompt, 4213 decoded, 140/s (153/s decoding), first TTFT 213 ms
      collector  ebpf: mapping, fault, engine, watch; no pebs or ibs: this machine has no PMU
      collector  process: proc

                     weight                        kv_cache
      ─────────────────────────────────────────────────────────────────────────
      most at one moment, whole run
        mapped       118 MiB                       36.0 MiB
      seen in the run
        regions      201                           24
        access rows  8421                          9120
      per byte and token
        reads        2.00 [1.97, 2.02] 64 a        0.962 [0.871, 1.04] 118 a
        writes       0 [0, 3.10e-5] 64 a           2.44e-4 [2.10, 2.81] 118 a
      bandwidth
        read         15.1 GiB/s [14.9, 15.3] 64 a  868 MiB/s [782, 945] 118 a
      hits in one pass
        mean         2 [2, 2] 64 a                 1 [1, 1.02] 118 a
      between accesses
        p50          7.12 ms [7.10, 7.15] 64 b     7.13 ms [7.10, 7.19] 118 b
        p99          8.40 ms [8.00, 12.0] 64 b     9.10 ms [8.20, 31.0 s] 118 b
      writes
        reads/write  not identifiable (3)          3941 [3502, 4212] 118 a
        once, 8 B    -                             1 [0.969, 1] 118 c
        once, 64 B   -                             1 [0.840, 1] 21 d
      age at read
        p50          -                             14.9 s [14.1, 15.8] 118 a
      retention
        p50          not identifiable (3)          ≥ 28.1 s 118/104c e (4)
        p99          -                             ≥ 28.1 s 118/104c e (4)
      working set
        touched      113 MiB [108, 114] 64 a       22.9 MiB [20.9, 24.8] 4213 f
      managed retention
        suitability  high 64 g                     high 64 g

                     activation                    runtime
      ───────────────────────────────────────────────────────────────
      most at one moment, whole run
        mapped       4.20 MiB                      58.2 MiB
      seen in the run
        regions      6                             311
        access rows  840                           39
      per byte and token
        reads        11.4 [6.72, 18.9] 41 a        insufficient 9 (1)
        writes       5.81 [3.40, 9.77] 41 a        insufficient 9 (1)
      bandwidth
        read         -                             -
      hits in one pass
        mean         3.20 [2.10, 4.40] 41 a        -
      between accesses
        p50          ≤ 16.0 us 41 b (2)            -
        p99          -                             -
      writes
        reads/write  1.96 [1.80, 2.10] 41 a        -
        once, 8 B    0.0200 [0, 0.130] 41 c        -
        once, 64 B   -                             -
      age at read
        p50          81.0 us [54.0, 120] 41 a      -
      retention
        p50          4.10 ms [3.20, 5.00] 41/3c e  -
        p99          -                             -
      working set
        touched      insufficient 41 (5)           -
      managed retention
        suitability  low 64 g                      -

           without figures: vdso mapped 8.00 KiB in 2 regions

      a cell reads: value [95 % interval, in the value's unit] samples/censored method (reason)
         a watch, decode, 8 B grain: Horvitz-Thompson ratio, block bootstrap by token
         b watch, decode, 8 B grain: weighted quantile of intervals between passes, block bootstrap by token
         c watch, decode, 8 B grain: Clopper-Pearson
         d watch, decode, 64 B grain: Clopper-Pearson
         e watch, decode, 8 B grain: Kaplan-Meier, log-log Greenwood
         f step, decode, 8 B grain: count of engine steps, exact
         g watch, whole run: rule of docs/metrics.md
       (1) insufficient: 9 watched addresses were hit, 30 are needed
       (2) bound: most intervals are shorter than one trap
       (3) not identifiable: no write in the run
       (4) bound: more than half of the rows were alive at the end of the run
       (5) insufficient: coverage 0.31, 0.5 is needed

      validity   marginal
                 CPU of the machine before the run 17.2 %, clean is below 15
      unmeasured thermal throttling, peak temperature; this machine does not tell
      cost       process slowed by 0.553 % (0.491 to 2.14 %) (model); 18.4k traps in 166 ms, BPF 12.1 ms
                 within --budget: watch traps 0.403 %, watch retargets 0.041 %
                 not bound by --budget: engine probes 0.098 %, faults recorded 0.0107 %
                 tracer 3.12 % of one CPU, 92.1 MiB of memory, 31.3 % of the process's RSS and 0.41 % of MemAvailable
                 the process waited 0.41 % of its CPU time for a CPU that the tracer had
                 machine before the run 17.2 % busy
      check      decoding told reads from writes as a pair of registers did in 153 of 153 accesses
      lost       13 of 80.3k events (fault 0.0212 %); about 0.595 % of process unseen; 14 filtered on purpose
                 fault, ring: 13 ring full
                 process, observe (samples): about 4 never seen
      unlabelled 0 % of 18.4k accesses
      warning    12 tensors were placed before the probes were attached; they were found in the graph
      files      results/demo-110m/20261121T101500Z-3fa2
                 metrics.csv for people, metrics.parquet every figure, region_map.parquet what lay where, capture/ what was
                 observed
      "
    `);
  });

  test("puts all four classes side by side at 160 columns", () => {
    const head = renderRun(demoReport(), plain(160))
      .split("\n")
      .find((line) => line.includes("kv_cache"));
    expect(head?.trim().split(/ +/)).toEqual(["weight", "kv_cache", "activation", "runtime"]);
  });

  test("has columns by kind of mapping where nothing is labelled, and none for kinds without a figure", () => {
    const lines = renderRun(plainReport(), plain(160)).split("\n");
    expect(
      lines
        .find((line) => line.includes("stack"))
        ?.trim()
        .split(/ +/),
    ).toEqual(["heap", "anon", "stack"]);
    expect(lines.find((line) => line.includes("without figures"))).toContain(
      "file mapped 58.2 MiB in 311 regions, vdso mapped 8.00 KiB",
    );
  });

  test("has no escape sequence without colour and only ASCII where the locale says so", () => {
    const text = renderRun(demoReport(), { width: 100, color: false, unicode: false });
    expect(text).toMatch(/^[\x20-\x7e\n]*$/);
    expect(text).toContain(">= 28.1 s");
  });

  test("colours the validity class by how bad it is", () => {
    const ink = (validity: RunReport["validity"]) => {
      const [before = ""] = renderRun(demoReport({ validity }), { ...plain(90), color: true }).split(
        `${validity}\x1b[0m`,
      );
      return before.split("\x1b[").at(-1);
    };
    const inks = (["clean", "marginal", "contaminated"] as const).map(ink);
    expect(inks).toEqual(["32m", "33m", "31m"]);
  });

  test("lets no name from outside move the cursor or reorder text", () => {
    const target = { ...demoReport().target, command: ["\x1b[2J\x07evil", "a\nb\u202Ec\u200Bd"] };
    const text = renderRun(demoReport({ target, model_id: "m\x1b]0;x\x07" }), plain(120));
    expect(text).toContain("?[2J?evil a?b?c?d");
    expect(text).toContain("m?]0;x?");
  });

  test("shows a metric that it does not know under its own name", () => {
    const report = demoReport({ metrics: [metricRow("brand_new_ns", "weight", [5, 4, 6])] });
    expect(renderRun(report, plain(100))).toMatch(/brand_new_ns +5.00 ns \[4.00, 6.00\] 64 a/);
  });

  test("says in one sentence what no class can know for the same reason, and keeps the row where one knows", () => {
    const none = (why: string) => ({ status: "not_identifiable" as const, why });
    const metrics = [
      metricRow("loads_per_s", "weight", null, none("no PMU")),
      metricRow("loads_per_s", "kv_cache", null, none("no PMU")),
      metricRow("stores_per_s", "weight", null, none("no PMU")),
      metricRow("iai_mean_ns", "weight", null, none("no PMU")),
      metricRow("iai_p50_ns", "weight", [5, 5, 5]),
      metricRow("iai_p50_ns", "kv_cache", null, none("no PMU")),
      metricRow("reads_per_write", "weight", null, none("no write")),
      metricRow("reads_per_write", "kv_cache", null, none("no read")),
    ];
    const text = renderRun(demoReport({ metrics }), plain(100));
    expect(text).toContain("not identifiable (no PMU): bandwidth loads, stores; between accesses mean\n");
    expect(text).not.toMatch(/^ +(loads|stores|mean) /m);
    expect(text).toMatch(/p50 +5.00 ns \[5.00, 5.00\] 64 a +not identifiable \(1\)/);
    expect(text).toMatch(/reads\/write +not identifiable \(2\) +not identifiable \(3\)/);
  });

  test("takes the figure of decoding before that of prefill, and any figure before a reason for none", () => {
    const prefill = metricRow("iai_p50_ns", "weight", [9, 9, 9], { step: "prefill" });
    const decode = metricRow("iai_p50_ns", "weight", [5, 5, 5]);
    const none = metricRow("iai_p50_ns", "weight", null, { status: "insufficient", why: "few" });
    const shown = (...metrics: (typeof prefill)[]) =>
      /between accesses\n +p50 +(.*)/.exec(renderRun(demoReport({ metrics }), plain(100)))?.[1];
    expect(shown(prefill, decode)).toStartWith("5.00 ns");
    expect(shown(none, prefill)).toStartWith("9.00 ns");
  });

  test("writes a bound on the side on which it says something, and rates in their own unit", () => {
    const bound = { status: "bound" as const, why: "few" };
    const metrics = [
      metricRow("iai_p50_ns", "weight", null, { ...bound, lo: 0, hi: 5000 }),
      metricRow("iai_p90_ns", "weight", null, { ...bound, lo: 10, hi: 5000 }),
      metricRow("iai_p99_ns", "weight", null, { ...bound, lo: 10 }),
      metricRow("loads_per_s", "weight", [25_000, 24_000, 26_000], { unit: "accesses/s" }),
    ];
    const text = renderRun(demoReport({ metrics }), plain(100));
    for (const cell of [
      "p50          ≤ 5.00 us 64",
      "p90          10.0 ns to 5.00 us 64",
      "p99          ≥ 10.0 ns 64",
      "25.0k/s [24.0, 26.0] 64",
    ]) {
      expect(text).toContain(cell);
    }
  });

  test("lists a method once where only counts in brackets differ", () => {
    const of = (region: string, n: number) =>
      metricRow("iai_p50_ns", region, [5, 4, 6], {
        method: `BCa over addresses (${n} with a write); per byte (weighted)`,
      });
    const text = renderRun(demoReport({ metrics: [of("weight", 7), of("kv_cache", 9)] }), plain(160));
    expect(text.match(/BCa over addresses; per byte \(weighted\)/g)).toHaveLength(1);
  });

  test("says of tokens how many there were at least where records of the engine were lost", () => {
    const { target } = demoReport();
    const lost = {
      prompt_tokens: null,
      decode_tokens: null,
      decode_tokens_per_s: null,
      ttft_ms: null,
      decode_call_tokens_per_s: null,
    };
    const least = { prompt_tokens_at_least: 64, decode_tokens_at_least: 331 };
    const text = renderRun(demoReport({ target: { ...target, ...lost, ...least } }), plain(80));
    expect(text).toContain("tokens     >= 64 prompt, >= 331 decoded\n");
  });

  test("says of the rate inside calls that it is of those without a prompt, where tokens came beside prompts", () => {
    const { target } = demoReport();
    const beside = { decode_tokens: 79, decode_tokens_beside_prompts: 38, decode_tokens_per_s: 7.03 };
    const text = renderRun(demoReport({ target: { ...target, ...beside } }), plain(120));
    expect(text).toContain("79 decoded, 7.03/s (153/s in calls without a prompt), first TTFT");
  });

  test("says which interval a longer run would halve, in one line below the table", () => {
    const more_time = {
      metric: "read_bytes_per_s",
      region_type: "kv_cache",
      mapping_kind: null,
      phase: "generation",
      half_width_pct: 13.2,
      run_s: 29.7,
      more_s: 90,
    };
    const line = "run 90.0 s longer to halve the ±13.2 % of kv_cache, read\n";
    expect(renderRun(demoReport({ more_time }), plain(120))).toContain(`\n${line}\nvalidity `);
    expect(renderRun(demoReport(), plain(120))).not.toContain("to halve");
  });

  test("says nothing of what recording cost where another tool did it, nor of what this machine does not tell", () => {
    for (const stopped_by of ["end_of_file", "import"]) {
      const imported = demoReport({ stopped_by, not_measured: ["peak temperature"] });
      for (const text of [renderRun(imported, plain(100)), renderAnswer(imported, plain(100))]) {
        expect(text).toMatch(/^cost +not known: another tool recorded it$/m);
        expect(text).not.toMatch(/slow(?:down|ed)|peak temperature|busy/);
      }
    }
    expect(renderRun(demoReport({ not_measured: ["peak temperature"] }), plain(100))).toContain("peak temperature");
  });

  test("says what it does not know instead of a zero", () => {
    const observer = {
      ...demoReport().observer,
      slowdown_pct: { value: Number.NaN, lo: Number.NaN, hi: Number.NaN, method: "model" as const },
    };
    const text = renderRun(
      demoReport({ metrics: [], labels: [], observer: { ...observer, rss_bytes: null } }),
      plain(100),
    );
    expect(text).toContain("nothing was seen");
    expect(text).toContain("slowdown of the process unknown");
    expect(text).toContain("tracer's memory unknown");
  });
});
