/** Where the next rows of the caches of a world will be written, as the tracer knows by the steps that have returned. */
import { rowsAhead } from "../collect/ebpf/watch/ahead.ts";
import type { DrawRegion } from "../collect/ebpf/watch/draw.ts";
import { ROWS } from "../regions/kv-layout.ts";
import { PID } from "./machine.ts";
import { lifeOf } from "./samples.ts";
import type { CacheRows, World } from "./world.ts";

/** Where the next row goes, and a cache, as the engine of a recording tells the policy. */
type Head = Parameters<typeof rowsAhead>[0][number];
type Tensor = Parameters<typeof rowsAhead>[1][number];

const WORD_BYTES = 8;
const ENGINE = "simulated";

function tensorOf({ pid, addr, size_bytes, stratum }: DrawRegion, { words }: CacheRows): Tensor {
  const rowBytes = WORD_BYTES * words;
  return {
    ...{ engine: ENGINE, pid, name: stratum, tensor_type: null, addr, size_bytes },
    ne: [words, size_bytes / rowBytes],
    nb: [WORD_BYTES, rowBytes],
    region_type: "kv_cache",
    layer: 0,
    logical_id: `layer0.${stratum.split("/").at(-1)}`,
    kv_layout: ROWS,
    drawn: true,
  };
}

/**
 * The rows that the policy may watch before they are written, as `rowsAhead` lists them in a recording. A step under way counts as not yet
 * carried out: the engine's probes tell of a batch when it returns.
 * @param regions those of the strata, in their order
 * @param untilNs up to when the tracer has heard of steps and of memory, ns
 */
export function rowsAheadIn({ strata, steps }: World, regions: readonly DrawRegion[], untilNs: number): DrawRegion[] {
  let tokens = 0;
  for (const { end_ns, n_tokens } of steps) if (end_ns <= untilNs) tokens += n_tokens;
  return regions.flatMap((region, i) => {
    const rows = strata[i]?.rows;
    const [born, freed] = lifeOf(strata[i]);
    if (rows === undefined || untilNs < born || untilNs >= freed) return [];
    const { first } = rows;
    const sequences = typeof rows.sequences === "function" ? rows.sequences(untilNs) : rows.sequences;
    const head: Head = { engine: ENGINE, pid: PID, context: 0n, next_row: first + tokens, sequences };
    return rowsAhead([head], [tensorOf(region, rows)]);
  });
}
