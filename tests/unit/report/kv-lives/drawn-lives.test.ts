import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeParquetFile } from "../../../../src/columnar/write/parquet-writer.ts";
import type { KvRows, KvTensor } from "../../../../src/label/kv/kv-lifecycle.ts";
import { writeKvLifecycle } from "../../../../src/label/kv/kv-table.ts";
import type { KvToken } from "../../../../src/label/kv/kv-token.ts";
import { ROW_ENDS } from "../../../../src/label/kv/row-ends.ts";
import { ROWS } from "../../../../src/regions/kv-layout.ts";
import { drawnLives } from "../../../../src/report/kv-lives/drawn-lives.ts";
import { readKvLives } from "../../../../src/report/kv-lives/row-lives.ts";
import { untoldRows } from "../../../../src/report/kv-lives/untold-rows.ts";
import { render } from "../../../../src/report/terminal.ts";
import type { KvEndWord } from "../../../../src/schema/words.ts";
import { openDatabase } from "../../../../src/sql/database.ts";
import { tokenList } from "../../../fixtures/listed-tokens.ts";
import { batchWith, type Given } from "../../../fixtures/row-with.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-lives-"));
afterAll(() => rmSync(folder, { recursive: true }));

const ORIGIN = 5_000_000_000_000n;
/** Parts of time of 1000 ns each: what is drawn goes on for 8 of them. */
const PARTS = 8;
const LAST = 7992;

interface Made extends Partial<KvToken> {
  readonly written: number;
  readonly needed?: number;
  readonly left?: readonly [ns: number, by: KvEndWord];
}

function token({ written, needed, left, ...more }: Made): KvToken {
  return {
    ...{ pid: 7, engine: "llama.cpp", context: "0x10", sequence: 0, filling: 0, position: 0, cell: null },
    ...{ write_ns: written, is_written: true, written_by_ns: written + 10, writes: "once", reads: [] },
    ...{ total_reads: needed === undefined ? 0 : 4, last_read_ns: needed ?? null },
    ...{ evict_ns: left?.[0] ?? null, end: left === undefined ? null : ROW_ENDS[left[1]] },
    ...{ shared_with: [], requests: null },
    ...more,
  };
}

const TENSOR: KvTensor = {
  ...{ pid: 7, engine: "llama.cpp", name: "cache_k_l0", layer: 0, context: "0x10", streams: 1, addr: 0x1000n },
  ...{ layout: ROWS, row_bytes: 256, cells: 64, element_bytes: 2, birth_ns: 0, death_ns: Number.POSITIVE_INFINITY },
};
const TENSORS = [TENSOR, { ...TENSOR, name: "cache_v_l0" }];
/** It comes first by its name. */
const WINDOWED = { ...TENSOR, name: "cache_a_l1", layer: 1 };

interface MadeRun {
  readonly requests?: readonly Given<"request_figures">[];
  readonly steps?: readonly Given<"step">[];
  readonly untold?: string;
  /** Tokens as a tensor of another layer keeps them. */
  readonly windowed?: readonly KvToken[];
}

/** Lines of the drawing of these rows. */
async function drawn(
  tokens: readonly KvToken[],
  { requests, steps, untold, windowed = [] }: MadeRun = {},
): Promise<string[]> {
  const rows: KvRows = {
    ...{ tokens: tokenList([...tokens, ...windowed]), tensors: windowed.length > 0 ? [WINDOWED, ...TENSORS] : TENSORS },
    rooms: [TENSORS.map((_, k) => k + Math.sign(windowed.length)), [0]],
    roomOf: [...tokens.map(() => 0), ...windowed.map(() => 1)],
    ...{ confirmed: new Set<number>(), contradicted: 0, copies: [], rowless_bytes: 0, early: null, untold: null },
  };
  writeKvLifecycle(folder, rows, ORIGIN);
  function file<T extends "request_figures" | "step">(table: T, given: readonly Given<T>[] | undefined): string[] {
    if (given === undefined) return [];
    const path = join(folder, `${table}.parquet`);
    writeParquetFile(path, table, [batchWith(table, given)]);
    return [path];
  }
  const files = {
    rows: join(folder, "kv_block_lifecycle.parquet"),
    requests: file("request_figures", requests),
    steps: file("step", steps),
  };
  await using database = await openDatabase();
  const lives = await readKvLives(database, files, PARTS);
  if (lives === null) return [];
  const terminal = { width: 100, color: false, unicode: true };
  return render(drawnLives(lives, untold ?? null, terminal), terminal)
    .trimEnd()
    .split("\n");
}

const chart = (lines: readonly string[], label: string): string | undefined =>
  lines.find((line) => line.startsWith(`  ${label} `))?.slice(11);

/** A prompt of three tokens, then one in each of three steps; all are trimmed at the end. */
const ANSWERED = [0, 0, 0, 2100, 3100, 4100].map((written) =>
  token({ written, needed: 5500, left: [LAST, "trimmed"] }),
);

describe("the lives of rows, drawn", () => {
  test("are when a sequence wrote them, kept them for a step, kept them for none, and gave them up", async () => {
    const lines = await drawn(ANSWERED);
    expect(lines).toEqual([
      "KV cache of pid 7, context 0x10: each row of a token lies in 2 tensors",
      lines[1] ?? "",
      "sequence 0: 6 rows written in 1 filling, at most 6 at once, each needed by 4 steps (mean)",
      "  rows     5568999",
      "  life     #=+++=-",
      "  changes         T",
      "",
      "signs      9 in a line of rows is 6 rows; # several rows written by one step, + one row by each",
      "           step, = kept, and needed by a later step, - kept, and needed no more, T trimmed",
    ]);
    expect(lines[1]).toMatch(/^time .*7\.99 us$/);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
  });

  test("are those of the tensors that need them most where others give them up before", async () => {
    const windowed = ANSWERED.map(({ write_ns, written_by_ns, ...one }) => ({
      ...{ ...one, write_ns, written_by_ns },
      ...{ total_reads: 1, last_read_ns: write_ns + 500, evict_ns: write_ns + 900 },
    }));
    const lines = await drawn(ANSWERED, { windowed });
    expect(lines.slice(0, 2)).toEqual([
      "KV cache of pid 7, context 0x10: each row of a token lies in 2 tensors; those in 1 other are kept",
      "for another time, and not drawn",
    ]);
    expect([chart(lines, "rows"), chart(lines, "life")]).toEqual(["5568999", "#=+++=-"]);
  });

  test("have each end by its letter, and that of most rows where several fall into one part", async () => {
    const ends: readonly (readonly [number, KvEndWord])[] = [
      ...([
        [1500, "cleared"],
        [2500, "written_over"],
        [3500, "shifted"],
        [4500, "memory_gone"],
      ] as const),
      ...([
        [5500, "given_out"],
        [6500, "finished"],
        [6600, "preempted"],
        [6700, "preempted"],
        [LAST, "replaced"],
      ] as const),
    ];
    const lines = await drawn(ends.map((left) => token({ written: 0, left })));
    expect(chart(lines, "changes")).toBe(" COSMGPR");
  });

  test("say whose rows others have too, and when positions moved, a state came back, or rows of another came", async () => {
    const step = (kind: "kv_shift" | "kv_restore" | "kv_copy", ns: number, sequence_id: number): Given<"step"> => ({
      ...{ timestamp_ns: ORIGIN + BigInt(ns), pid: 7, tid: 7, kind, sequence_id, detail: '{"context":"0x10"}' },
    });
    const lines = await drawn(
      [
        token({ written: 0, left: [2500, "trimmed"], shared_with: [1, 3, 4, 5, 6] }),
        token({ written: 0, left: [LAST, "trimmed"] }),
        token({ written: 4100, sequence: 1, filling: 1 }),
      ],
      { steps: [step("kv_copy", 1500, 1), step("kv_shift", 5500, 1), step("kv_restore", 3500, 0)] },
    );
    expect(lines.slice(2, 4).join("").replaceAll("  ", " ")).toEndWith(
      " shares 1 with sequence 1, 1 with 3, 1 with 4, some with 2 others",
    );
    expect(chart(lines, "shared")).toBe("~~");
    expect(lines.filter((line) => line.startsWith("  changes")).map((line) => line.slice(11))).toEqual([
      "  T<   T",
      " &   >",
    ]);
  });

  test("have the requests of each sequence by their numbers", async () => {
    const served = (
      request_id: number,
      sequence_id: number,
      from: number,
      until: number,
    ): Given<"request_figures"> => ({
      ...{ request_id, sequence_id, status: "answered", timestamp_ns: ORIGIN + BigInt(from) - 100n },
      ...{ wait_ns: 100n, ttft_ns: 200n, generation_ns: BigInt(until - from - 100) },
    });
    const requests = [
      served(7, 0, 0, 2500),
      served(12, 0, 3200, 3900),
      served(13, 0, 5000, 7500),
      served(8, 1, 0, 900),
    ];
    expect(chart(await drawn(ANSWERED, { requests }), "requests")).toBe("7..| 13.");
    const touching = [served(21, 0, 0, 1900), served(22, 0, 2000, 3900), served(23, 0, 5000, 6900)];
    expect(chart(await drawn(ANSWERED, { requests: touching }), "requests")?.trim()).toBe("|.22 23");
  });

  test("are cut behind the sequences with most rows, with a count of the others", async () => {
    const tokens = Array.from({ length: 20 }, (_, sequence) =>
      [0, 1].slice(sequence < 4 ? 1 : 0).map((written) => token({ written, sequence, left: [LAST, "finished"] })),
    ).flat();
    const lines = await drawn(tokens);
    expect(lines.filter((line) => line.startsWith("sequence ")).map((line) => line.split(":")[0])).toEqual(
      Array.from({ length: 16 }, (_, i) => `sequence ${i + 4}`),
    );
    expect(lines.at(-1)).toBe("4 more sequences, with 4 rows");
  });

  test("say why others are not known", async () => {
    expect((await drawn(ANSWERED, { untold: "a batch could not be read" })).at(-1)).toBe(
      "rows of some sequences are not known: a batch could not be read",
    );
    expect(await drawn([])).toEqual([]);
  });
});

test("why rows are not known is what the figures of the cache by steps say", () => {
  const row = { region_type: "kv_cache", source: "step", status: "not_identifiable", why: "a batch could not be read" };
  type Metric = Parameters<typeof untoldRows>[0][number];
  expect(untoldRows([row as Metric])).toBe("a batch could not be read");
  expect(untoldRows([{ ...row, source: "watch" } as Metric, { ...row, region_type: "weight" } as Metric])).toBeNull();
});
