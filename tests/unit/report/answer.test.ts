import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { renderAnswer } from "../../../src/report/answer.ts";
import { shortFigure } from "../../../src/report/short-figure.ts";
import { widthOf } from "../../../src/report/terminal.ts";
import type { RunReport } from "../../../src/schema/run-json.ts";
import { demoReport, metricRow, plainReport } from "../../fixtures/run-report.ts";

const plain = (width: number) => ({ width, color: false, unicode: true });
const short = (...row: Parameters<typeof metricRow>) =>
  shortFigure(metricRow(...row))
    .map(({ text }) => text)
    .join("");

describe("the answer of a run", () => {
  test("has what ran, a column for each class of data, cost, loss and validity at 80 columns", () => {
    expect(renderAnswer(demoReport(), plain(80))).toMatchInlineSnapshot(`
      "demo-110m  20261121T101500Z-3fa2
      process    pid 4242, 2 processes, 9 threads, 33.4 s, exit 0
      tokens     64 prompt, 4213 decoded, 140/s (153/s decoding), first TTFT 213 ms
      validity   marginal: CPU of the machine before the run 17.2 %, clean is below 15

      ± 95 % interval  weight          kv_cache        activation    runtime
      ────────────────────────────────────────────────────────────────────────────
      in memory        ≤ 118 MiB ░░░░  ≤ 36.0 MiB ░    ≤ 4.20 MiB ░  ≤ 58.2 MiB ░░
      working set      113 MiB ±4%     22.9 MiB ±9%    too few seen  -
      read             15.1 GiB/s ±2%  868 MiB/s ±10%  -             -
      reads per write  not known       3941 ±12%       1.96 ±9%      -
      never rewritten  -               96 to 100 %     0 to 13 %     -
      kept for, p50    not known       ≥ 28.1 s        4.10 ms ±22%  -
      kept for, p99    -               ≥ 28.1 s        -             -
      suits retention  high            high            low           -
                 ≤ ≥ ░: only this end is known; kept for: from write to last read
                 read, written: loads and stores, not DRAM traffic; idle time counts

      cost       process slowed by 0.553 % (0.491 to 2.14 %), tracer 3.12 % of one CPU
      lost       13 of 80.3k events (fault 0.0212 %); about 0.595 % of process unseen
      warning    12 tensors were placed before the probes were attached; they were
                 found in the graph
      files      results/demo-110m/20261121T101500Z-3fa2
      more       report.html there; every figure: mrm-trace show --table FOLDER
      "
    `);
  });

  test("says of a class that nothing can have written that there are no writes, where others need one", () => {
    const report = demoReport();
    const none = metricRow("write_bytes_per_s", "weight", [0, 0, 0], { source: "region_map" });
    const text = renderAnswer({ ...report, metrics: [...report.metrics, none] }, plain(80));
    expect(text).toMatch(/^written +0 B\/s /m);
    expect(text).toMatch(/^reads per write +no writes /m);
    expect(text).toMatch(/^kept for, p50 +no writes /m);
    expect(renderAnswer(report, plain(80))).not.toContain("no writes");
  });

  test("has the peak of the process whole, or not at all, in a pipe too", () => {
    const report = demoReport();
    const target = { ...report.target, pids: Array.from({ length: 120 }, (_, i) => i + 1), signal: "SIGTERM" };
    for (const width of [80, 100]) {
      const text = renderAnswer({ ...report, target }, plain(width)).replaceAll(/\n +/g, " ");
      const said = text.match(/^process .*$/m)?.[0] ?? "";
      expect([width, said]).toEqual([width, expect.stringMatching(/ended by SIGTERM(?:, peak RSS [\d.]+ \w+)?$/)]);
    }
  });

  test("names no page that could not be written", () => {
    const report = demoReport();
    const warnings = ["a", "b", "c", "report.html was not written: no space left on device"];
    expect(renderAnswer({ ...report, warnings }, plain(80))).toContain("no report.html; every figure: mrm-trace show");
    expect(renderAnswer(report, plain(80))).toContain("report.html there; every figure");
  });

  test("says which engine ran which model, as far as both are known", () => {
    const model = {
      name: "a",
      architecture: "llama",
      parameters: 109_500_000,
      quantisation: "q8_0",
      bytes_by_type: {},
      file_bytes: 1,
      layers: 12,
      heads: 12,
      kv_heads: 12,
      embedding: 768,
      feed_forward: 2048,
      vocabulary: 32_000,
      experts: null,
      experts_used: null,
      context_tokens: 2048,
    };
    const engine = { name: "llama.cpp", build: "ggml 0.25.1", context: { n_ctx: 512, n_threads: 2 } };
    expect(renderAnswer(demoReport({ model, engine }), plain(80))).toContain(
      "\nengine     llama.cpp (ggml 0.25.1), llama q8_0, n_ctx 512, n_threads 2\n",
    );
    // Its name may say another number.
    expect(renderAnswer(demoReport({ model, engine }), plain(80))).toStartWith("demo-110m  110M parameters  2026");
    // No model was known when the folder was made: it has the name of the command.
    const named = { ...model, name: "Random 15M" };
    const ofCommand = { ...demoReport().target, command: ["/usr/bin/env", "A=1", "python3", "server.py"] };
    const late = demoReport({ model_id: "env", model: named, target: ofCommand });
    expect(renderAnswer(late, plain(80))).toStartWith("random-15m  110M parameters  2026");
    const nameless = demoReport({ model_id: "env", model: { ...model, name: null }, target: ofCommand });
    expect(renderAnswer(nameless, plain(80))).toStartWith("env  110M parameters  2026");
    const bare = { ...model, architecture: null, parameters: null, quantisation: null, layers: null };
    expect(renderAnswer(demoReport({ model: bare }), plain(80))).toContain("\nengine     model\n");
    expect(renderAnswer(demoReport({ engine: { name: "other" } }), plain(80))).toContain(
      "\nengine     other, threads not known\n",
    );
  });

  test("says how many threads were busy where they are others than the engine was asked for, or than there are", () => {
    const { target } = demoReport();
    const lineOf = (engine: RunReport["engine"], busy_threads: number | null, line: string) =>
      renderAnswer(demoReport({ engine, target: { ...target, busy_threads } }), plain(80)).match(
        new RegExp(`^${line} +(.*)$`, "m"),
      )?.[1];
    const engine = { name: "llama.cpp", context: { n_threads: 4 } };
    expect(lineOf(engine, 3.26, "engine")).toBe("llama.cpp, n_threads 4");
    expect(lineOf(engine, null, "engine")).toBe("llama.cpp, n_threads 4");
    expect(lineOf(engine, 2.04, "engine")).toBe("llama.cpp, n_threads 4, 2 busy");
    expect(lineOf(engine, 1.36, "engine")).toBe("llama.cpp, n_threads 4, 1.4 busy");
    expect(lineOf({ name: "other" }, 2.98, "engine")).toBe("other, n_threads not known, 3 busy");
    expect(lineOf(engine, 3, "process")).toBe("pid 4242, 2 processes, 9 threads, 33.4 s, exit 0");
    expect(lineOf(null, 3.04, "process")).toBe("pid 4242, 2 processes, 9 threads (3 busy), 33.4 s, exit 0");
    expect(lineOf(null, 8.3, "process")).toBe("pid 4242, 2 processes, 9 threads, 33.4 s, exit 0");
  });

  test("is by kind of mapping without an engine", () => {
    const text = renderAnswer(plainReport(), plain(80));
    expect(text).toMatch(/^± 95 % interval +heap +anon +stack$/m);
    expect(text).toMatch(/^kept for, p50 +≥ 28.1 s +not known +4.10 ms ±22%$/m);
  });

  test("leaves out the last classes of data, not the weights, where not all fit side by side", () => {
    const wide = demoReport().metrics.map((row) => ({
      ...row,
      label: row.metric === "suitability" ? "x".repeat(17) : row.label,
    }));
    const text = renderAnswer(demoReport({ metrics: wide }), plain(80));
    expect(text).toMatch(/^± 95 % interval +weight +kv_cache +activation$/m);
    expect(text).toMatch(/^more +report.html there; 1 more class: mrm-trace show --table FOLDER$/m);
  });

  test("begins with the failure of the command, and has no table where nothing was learnt", () => {
    const { target } = demoReport();
    const text = renderAnswer(demoReport({ metrics: [], target: { ...target, exit_code: 3 } }), plain(80));
    expect(text.split("\n")[0]).toBe("the command ended with exit code 3");
    expect(text).toContain("too little was seen for any figure of a class of data");
    expect(text).not.toContain("kept");
  });

  test("has the sizes that a look found where nothing else was learnt, and says that of the rest", () => {
    const looked = (name: string, bytes: number) =>
      metricRow("resident_bytes", name, [bytes, bytes, bytes], { phase: "all", step: "all" });
    const metrics = [
      looked("weight", 26_424_115),
      looked("kv_cache", 3_806_330),
      metricRow("retention_p50_ns", "kv_cache", null, { status: "insufficient" }),
    ];
    const text = renderAnswer(demoReport({ metrics }), plain(80));
    expect(text).toMatch(/^in memory +25.2 MiB █+ +3.63 MiB █ +≤ 4.20 MiB ░ +≤ 58.2 MiB ░+$/m);
    expect(text).toMatch(/^too little was seen for any other figure of a class of data$/m);
    expect(text).not.toMatch(/^ *(kept for|suits retention|read|≤)/m);
    // A size of which only the address space tells the upper end is nothing learnt.
    expect(renderAnswer(demoReport({ metrics: metrics.slice(2) }), plain(80))).toMatch(
      /^too little was seen for any figure of a class of data$/m,
    );
  });

  test("shows what memray counted where allocations are all that was seen, and says what it never sees", () => {
    const row = (name: string, value: number | null) => ({
      ...metricRow(name, "unknown", value === null ? null : [value, value, value], { phase: "all", step: "all" }),
      mapping_kind: "allocation",
      ...(value === null ? { status: "not_identifiable" as const } : {}),
    });
    const metrics = [
      row("allocated_bytes", 20 * 2 ** 20),
      row("allocations_total", 131),
      row("lifetime_p50_ns", 5e8),
      row("reads_per_write", null),
    ];
    const text = renderAnswer(demoReport({ metrics, labels: [] }), plain(100));
    expect(text).toMatch(/^most alive at once +20.0 MiB$/m);
    expect(text).toMatch(/^allocations +131$/m);
    expect(text).toMatch(/^freed after, p50 +500 ms$/m);
    expect(text).toMatch(/^memray sees allocations and frees, never a read or a write/m);
    expect(text).not.toMatch(/too little was seen|reads per write|allocated in all/);
  });

  test("never says that a class had more memory than the target", () => {
    const peak = metricRow("rss_peak_bytes", "all", [1e8, 1e8, 1e8], { scope: "process", phase: "all", step: "all" });
    const text = renderAnswer(demoReport({ metrics: [...demoReport().metrics, peak] }), plain(100));
    expect(text).toMatch(/^in memory +≤ 95.4 MiB ░░░░ +≤ 36.0 MiB/m);
    expect(text).toContain("peak RSS 95.4 MiB");
  });

  test("gives the ends of the peak of several processes, which need not have been at one moment", () => {
    const ends = { status: "bound", lo: 1e8, hi: 2e8 } as const;
    const peak = metricRow("rss_peak_bytes", "all", null, { scope: "process", phase: "all", step: "all", ...ends });
    const text = renderAnswer(demoReport({ metrics: [...demoReport().metrics, peak] }), plain(100));
    expect(text).toContain("peak RSS 95.3 MiB to 191 MiB");
  });

  /** The demo with its weights at one size at least, and at another at most, and with a cache that is known to the byte. */
  const sized = (least: number, most: number) => {
    const looked = { phase: "all", step: "all", source: "residency" } as const;
    return demoReport({
      metrics: [
        ...demoReport().metrics,
        metricRow("resident_bytes", "weight", [least, least, most], looked),
        metricRow("resident_bytes", "kv_cache", [2 ** 20, 2 ** 20, 2 ** 20], looked),
      ],
    });
  };
  const weightSize = (least: number, most: number) =>
    renderAnswer(sized(least, most), plain(100)).match(/^in memory +(.*?) +[█░]+ +1.00 MiB/m)?.[1];

  test("tells a size by its ends where more may have been in memory between two looks", () => {
    expect(weightSize(240_640, 487_424)).toBe("230 to 480 KiB");
    expect(weightSize(40_960, 487_424)).toBe("40 to 480 KiB");
    expect(weightSize(59_454_259, 102_236_160)).toBe("56 to 98 MiB");
    expect(weightSize(0, 487_424)).toBe("≤ 476 KiB");
  });

  test("tells how far a size reaches where that is little, and not where three digits hold it", () => {
    expect(weightSize(13_329_408, 13_657_088)).toBe("12.7 MiB ±3%");
    expect(weightSize(13_329_408, 13_340_000)).toBe("12.7 MiB");
    expect(weightSize(13_329_408, 13_329_408)).toBe("12.7 MiB");
  });

  test("draws the bar of a range as that of a bound, up to its upper end", () => {
    expect(renderAnswer(sized(40_960, 487_424), plain(100))).toMatch(/^in memory +40 to 480 KiB ░ +1.00 MiB █ +≤/m);
  });

  test("has no bars where a class would lose its place to them", () => {
    const wide = metricRow("resident_bytes", "activation", [180_256, 180_256, 7_600_000], {
      phase: "all",
      step: "all",
    });
    const base = sized(129_085_280, 173_000_000);
    const text = renderAnswer({ ...base, metrics: [...base.metrics, wide] }, plain(80));
    expect(text).toMatch(/^in memory +120 to 170 MiB +1.00 MiB +0.17 to 7.3 MiB +≤ 58.2 MiB$/m);
    expect(text).toMatch(/^± 95 % interval +weight +kv_cache +activation +runtime$/m);
  });

  test("says signs in words where the terminal has ASCII alone, and its columns stay in line", () => {
    const text = renderAnswer(demoReport(), { width: 80, color: false, unicode: false });
    expect(text).not.toContain("?");
    expect(text).toMatch(/^working set +113 MiB \+-4% +22.9 MiB \+-9% +too few seen +-$/m);
    const columns = text.split("\n").filter((line) => /^(in memory|working set|kept for, p50)/.test(line));
    const cache = [/<= 36.0/, /22.9/, />= 28.1/].map((cell, i) => columns[i]?.search(cell));
    expect(new Set(cache).size).toBe(1);
  });

  test("tells first, and whole, why a run may be spoilt", () => {
    const reasons = [
      "time that the process waited for a CPU that the tracer had 6.1 % of its CPU time, marginal is at most 5",
    ];
    const more_time = {
      metric: "retention_p50_ns",
      region_type: "kv_cache",
      mapping_kind: null,
      phase: "generation",
      half_width_pct: 22,
      run_s: 30,
      more_s: 90,
    };
    const engine = { name: "llama.cpp", build: "ggml 0.25.1", context: { n_ctx: 512, n_threads: 2 } };
    const lines = renderAnswer(
      demoReport({ validity: "contaminated", reasons, more_time, engine, warnings: [] }),
      plain(80),
    ).split("\n");
    const place = lines.findIndex((line) => line.startsWith("validity"));
    expect(place).toBeLessThan(lines.findIndex((line) => line.startsWith("in memory")));
    expect(`${lines[place]} ${lines[place + 1]?.trim()}`).toBe(`validity   contaminated: ${reasons[0]}`);
  });

  test("says of what was kept throughout for how long we looked, and what the other labels mean", () => {
    const labels = ["kept_throughout", "high_mrm", "low_mrm", "insufficient"];
    const metrics = ["weight", "kv_cache", "activation", "runtime"].map((name, i) =>
      metricRow("suitability", name, null, { status: "ok", label: labels[i] ?? null, unit: "label" }),
    );
    const text = renderAnswer(demoReport({ metrics: [...demoReport().metrics.slice(0, -3), ...metrics] }), plain(80));
    expect(text).toMatch(/^suits retention +kept all 30.0 s +suited +not suited +undecided$/m);
  });

  const took = {
    ...{ requests: 30, answered: 28, wait_ms: { p50: 4.4, p99: 36.8 }, token_gap_ms: { p50: 5.4, p99: 8 }, why: null },
    ...{ ttft_ms: { p50: 59.87, p99: 314.5 }, kv_bytes: { p50: 1_582_848, p99: 1_596_672 } },
    ...{ prompt_tokens: 5330, reused_tokens: 4297, output_tokens: 1120, streamed_tokens: 1188 },
  };
  const lineOf = (report: RunReport, key: string) =>
    renderAnswer(report, plain(80)).match(new RegExp(`^${key} +(.*(?:\\n {11}.*)*)$`, "m"))?.[1];

  test("says in one line how many requests of our client were answered, and when their first tokens came", () => {
    const { target } = demoReport();
    const text = "28 of 30 answered, first token p50 59.9 ms, p99 315 ms";
    expect(lineOf(demoReport({ requests: took }), "requests")).toBe(text);
    const aborted = demoReport({ requests: took, target: { ...target, exit_code: null, signal: "SIGABRT" } });
    expect(renderAnswer(aborted, plain(80))).toStartWith("the command ended by SIGABRT\n");
    expect(lineOf(aborted, "requests")).toBe(text);
    const hung = { ...took, ttft_ms: { p50: 59.87, p99: null, p99_at_least: 5000 } };
    expect(lineOf(demoReport({ requests: hung }), "requests")).toBe(
      "28 of 30 answered, first token p50 59.9 ms, p99 >= 5.00 s",
    );
    const none = { ...took, answered: 0, ttft_ms: null, output_tokens: null };
    expect(lineOf(demoReport({ requests: none }), "requests")).toBe("0 of 30 answered");
    const named = { ...took, answered: null, ttft_ms: null };
    expect(lineOf(demoReport({ requests: named }), "requests")).toBe("30 named by the engine, sent by others");
    expect(lineOf(demoReport({ requests: { ...named, unnamed: 18 } }), "requests")).toBe(
      "30 named by the engine, sent by others, 18 sequences without a name",
    );
    expect(lineOf(demoReport({ requests: { ...named, sequences: 34 } }), "requests")).toBe(
      "30 named by the engine, sent by others, 34 sequences of them",
    );
    expect(lineOf(demoReport({ requests: { ...named, under_way: 4 } }), "requests")).toBe(
      "30 named by the engine, sent by others, 4 of them not seen to end",
    );
  });

  test("says nothing of requests where nobody asked for them", () => {
    expect(lineOf(demoReport(), "requests")).toBeUndefined();
    const unknown = { ...took, requests: null, answered: null, why: "not identifiable: steps tell batches" };
    expect(lineOf(demoReport({ requests: unknown }), "requests")).toBeUndefined();
  });

  test("has what the server counted itself, or why that is not known", () => {
    const { target } = demoReport();
    const counted = (engine_counts: RunReport["target"]["engine_counts"]) =>
      lineOf(demoReport({ target: { ...target, engine_counts } }), "server");
    const counts = { prompt_tokens: 907, generated_tokens: 1017, generated_tokens_per_s: 323, requests_under_way: 1 };
    expect(counted({ ...counts, why: null })).toBe(
      "counts 907 prompt, 1017 generated, 323/s, 1 request cut by the\n           recording",
    );
    const why = "at the end: http://127.0.0.1:8123/metrics cannot be asked: connect ECONNREFUSED 127.0.0.1:8123";
    const none = {
      prompt_tokens: null,
      generated_tokens: null,
      generated_tokens_per_s: null,
      requests_under_way: null,
    };
    expect(counted({ ...none, why })?.replaceAll(/\s+/g, " ")).toBe(`no count: ${why}`);
    expect(lineOf(demoReport(), "server")).toBeUndefined();
  });

  test("says of a command that --duration ended that it did", () => {
    const { target } = demoReport();
    const after = (stopped_by: string, signal: string | null, exit_code: number | null) =>
      renderAnswer(demoReport({ stopped_by, target: { ...target, signal, exit_code } }), plain(80)).split("\n")[0];
    expect(after("duration", "SIGTERM", null)).toBe("the command ended by SIGTERM, as --duration was over");
    expect(after("duration", null, 143)).toBe("the command ended with exit code 143, as --duration was over");
    expect(after("duration", null, 0)).toStartWith("demo-110m");
    expect(after("target_ended", "SIGTERM", null)).toBe("the command ended by SIGTERM");
  });

  test("explains words that it has, and no others", () => {
    const report = demoReport();
    const signs = (metrics: RunReport["metrics"]) =>
      renderAnswer({ ...report, metrics }, plain(80))
        .match(/^ +≤ ≥ ░: .*$/m)?.[0]
        .trim();
    const unkept = report.metrics.filter(({ metric }) => !metric.startsWith("retention_"));
    const few = "≤ ≥ ░: only this end is known; too few seen: a longer run may tell";
    expect(signs(unkept)).toBe(few);
    expect(signs(unkept.filter(({ status }) => status !== "insufficient"))).toBe("≤ ≥ ░: only this end is known");
  });

  test("has the cost and the command for more whole where there is room for a second line", () => {
    const report = demoReport({ warnings: [] });
    const text = renderAnswer({ ...report, metrics: report.metrics.slice(0, 3) }, plain(60));
    const said = text.replaceAll(/\n +/g, " ");
    expect(said).toMatch(/^cost .* tracer 3.12 % of one CPU$/m);
    expect(said).toMatch(/^more .*: mrm-trace show --table FOLDER$/m);
  });

  test("says what would sharpen it most", () => {
    const more_time = {
      metric: "retention_p50_ns",
      region_type: "kv_cache",
      mapping_kind: null,
      phase: "generation",
      half_width_pct: 22,
      run_s: 30,
      more_s: 90,
    };
    const text = renderAnswer(demoReport({ more_time }), plain(100));
    expect(text).toMatch(/^sharper +run 90.0 s longer to halve the ±22 % of kv_cache, kept for, p50$/m);
  });

  test("says that nothing was lost in the line of a clean validity, and else in its own", () => {
    const clean = { validity: "clean", reasons: [], warnings: [], loss: [] } as const;
    const kept = demoReport().ledger.map((row) => ({
      ...row,
      seen: row.kept,
      filtered: 0,
      dropped: 0,
      dropped_by: {},
    }));
    const whole = renderAnswer(demoReport({ ...clean, ledger: kept }), plain(80));
    expect(whole).toMatch(/^validity +clean, lost nothing of \d/m);
    expect(whole).not.toMatch(/^lost/m);
    // What is left over tells more of the signs.
    expect(whole).toContain("not DRAM traffic; idle time counts");
    const cut = renderAnswer(demoReport(clean), plain(80));
    expect(cut).toMatch(/^lost +13 of 80.3k events/m);
    expect(cut).toMatch(/^validity +clean$/m);
  });

  test("names what leaves no room: warnings that it does not show are counted", () => {
    const warnings = Array.from({ length: 30 }, (_, i) => `warning ${i} ${"of many words ".repeat(5)}`);
    const text = renderAnswer(demoReport({ warnings }), plain(80));
    expect(text).toMatch(/warning +\d+ (more )?in the table/);
  });

  test("has at most 24 lines, none wider than the terminal, whatever the run", () => {
    const classes = fc.uniqueArray(fc.constantFrom("heap", "anon", "stack", "file", "shm", "vdso", "text"), {
      maxLength: 7,
    });
    const texts = fc.array(fc.string({ maxLength: 200 }), { maxLength: 20 });
    const end = fc.record({ signal: fc.constantFrom(null, "SIGKILL"), exit_code: fc.constantFrom(null, 0, 7) });
    fc.assert(
      fc.property(
        classes,
        texts,
        texts,
        end,
        fc.integer({ min: 80, max: 200 }),
        (kinds, warnings, reasons, how, width) => {
          const base = demoReport();
          const labels = kinds.map((mapping_kind, i) => ({
            ...base.labels[0],
            region_type: "unknown",
            mapping_kind,
            regions: i,
            bytes: BigInt(i) * 12_345_678n,
            bytes_are: (["mapped", "touched", "allocated"] as const)[i % 3] ?? "mapped",
            access_rows: 1,
          }));
          const metrics = kinds.flatMap((mapping_kind, i) =>
            base.metrics.map((row) => ({
              ...row,
              region_type: "unknown",
              mapping_kind,
              value: i === 0 ? 0 : row.value,
            })),
          );
          const report = demoReport({ labels, metrics, warnings, reasons, target: { ...base.target, ...how } });
          const lines = renderAnswer(report, plain(width)).split("\n").slice(0, -1);
          expect(lines.length).toBeLessThanOrEqual(24);
          for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width);
        },
      ),
    );
  });
});

describe("a figure in short", () => {
  test("is its value and how far the interval reaches, never told as narrower than it is", () => {
    expect(short("read_bytes_per_s", "weight", [1.62e10, 1.6e10, 1.64e10])).toBe("15.1 GiB/s ±2%");
    expect(short("iai_p50_ns", "weight", [7.12e6, 7.1e6, 7.15e6])).toBe("7.12 ms ±0.5%");
    expect(short("iai_p50_ns", "weight", [7.12e6, 7.12e6, 7.12e6])).toBe("7.12 ms");
  });

  test("is the ends of a wide interval, with two digits rounded outwards", () => {
    expect(short("iai_p50_ns", "weight", [7.12e6, 1.26e6, 3.14e7])).toBe("1.2 to 32 ms");
    expect(short("reads_per_write", "weight", [0, 0, 0.1234])).toBe("0 to 0.13");
    expect(short("working_set_bytes", "runtime", [4e5, 1e-56, 3.8e7])).toBe("0 to 37 MiB");
  });

  test("is a share by its ends in percent, and none where it could be any", () => {
    const any = { status: "bound", lo: 0, hi: 1 } as const;
    expect(short("write_once_ratio", "kv_cache", null, any)).toBe("not known");
    expect(short("write_once_ratio", "kv_cache", null, { ...any, hi: 0.9998 })).toBe("not known");
    expect(short("write_once_ratio", "kv_cache", null, { ...any, hi: 0.948 })).toBe("≤ 94.8 %");
    expect(short("write_once_ratio", "kv_cache", [1, 0.969, 1])).toBe("96 to 100 %");
  });

  test("is a bound of two ends in one unit", () => {
    const ends = { status: "bound", lo: 19 * 2 ** 20, hi: 180 * 2 ** 20 } as const;
    expect(short("read_bytes_per_s", "runtime", null, ends)).toBe("19 to 180 MiB/s");
  });

  test("is none where all that is known is that nothing is less than none", () => {
    expect(short("read_bytes_per_s", "runtime", null, { status: "bound", lo: 0 })).toBe("not known");
    expect(short("read_bytes_per_s", "runtime", null, { status: "bound", lo: 0, hi: 2048 })).toBe("≤ 2.00 KiB/s");
  });

  test("is a bound with its sign, or words that say why there is no number", () => {
    expect(short("retention_p50_ns", "kv_cache", null, { status: "bound", lo: 2.81e10 })).toBe("≥ 28.1 s");
    expect(short("retention_p50_ns", "kv_cache", null, { status: "insufficient" })).toBe("too few seen");
    expect(short("retention_p50_ns", "kv_cache", null)).toBe("not known");
  });
});
