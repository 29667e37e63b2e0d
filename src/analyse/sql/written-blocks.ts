/** Which rows of `trace AS t` are samples of stores within `span AS s`. */
const IS_STORE = `t.source <> 'watch' AND t.source <> 'clock' AND t.op_type IN ('store', 'load_store')
    AND coalesce(t.period, 1) > 0 AND t.timestamp_ns >= s.begin_ns AND t.timestamp_ns <= s.end_ns`;

/** How many samples of stores there are, as `n`. */
export const STORE_SAMPLES = `SELECT count(*) AS n FROM trace AS t CROSS JOIN span AS s WHERE ${IS_STORE}`;

/** Chance, per block, that a run whose stores come evenly is taken for over while it goes on. */
export const FALSE_CHANCE = 1e-4;

/**
 * Blocks of 4 KiB, 64 KiB and 2 MiB on which samples of stores fell, per class and source: seen in one run of samples,
 * in runs that cannot be one write epoch, and in runs of which that is open; with the runs by their samples.
 *
 * Samples closer than the pass gap belong to one epoch: the stores between them are closer still. Samples further apart
 * may belong to one, if no store between them was sampled. So two runs beside each other count as two epochs only where
 * the pause between them fits into neither: n samples of a run that went on through the pause would have a spacing that
 * long with a chance of at most n (length / (length + pause))^(n - 1) (uniform spacings, union bound), and that, times
 * the runs of the block, is small for both. A run of one sample proves nothing.
 *
 * The life of a block ends where the engine empties its cache (table `lives`: begin_ns, end_ns and life, one after the
 * other), and where a region that held the whole block dies. Of each run its first sample is kept, and of a block its last:
 * places in the block's order say how many samples lie between. Reads the views `trace` and `region_map`, `span` with
 * one row (begin_ns, end_ns, gap_ns), and `part` with one row: blocks whose number leaves `rest` when divided by `parts`.
 */
export const WRITTEN_BLOCKS = `
WITH grains AS (
  SELECT 4096 AS grain UNION ALL SELECT 65536 AS grain UNION ALL SELECT 2097152 AS grain
),
stores AS (
  SELECT
    g.grain,
    coalesce(m.region_type, 'unknown') AS region_type,
    CASE WHEN m.region_type = 'unknown' THEN m.mapping_kind END AS mapping_kind,
    t.source,
    t.pid,
    t.address - t.address % g.grain AS block,
    t.timestamp_ns AS time_ns,
    CASE WHEN m.region_type = 'kv_cache' THEN l.life ELSE 0 END AS cache_life,
    CASE WHEN NOT m.death_censored
      AND CAST(m.addr AS DOUBLE) <= CAST(t.address - t.address % g.grain AS DOUBLE)
      AND CAST(m.addr AS DOUBLE) + m.size_bytes >= CAST(t.address - t.address % g.grain AS DOUBLE) + g.grain
      THEN m.death_ns END AS death_ns
  FROM trace AS t
  CROSS JOIN span AS s
  CROSS JOIN grains AS g
  CROSS JOIN part AS p
  JOIN lives AS l ON t.timestamp_ns >= l.begin_ns AND t.timestamp_ns < l.end_ns
  LEFT JOIN region_map AS m ON m.region_id = t.region_id
  WHERE ${IS_STORE}
    AND (t.address - t.address % g.grain) % (g.grain * p.parts) = g.grain * p.rest
),
ordered AS (
  SELECT *,
    row_number() OVER (PARTITION BY grain, region_type, mapping_kind, source, pid, block ORDER BY time_ns) AS place,
    lag(time_ns) OVER (PARTITION BY grain, region_type, mapping_kind, source, pid, block ORDER BY time_ns) AS before_ns,
    lag(death_ns) OVER (PARTITION BY grain, region_type, mapping_kind, source, pid, block ORDER BY time_ns) AS died_ns,
    lag(cache_life) OVER (PARTITION BY grain, region_type, mapping_kind, source, pid, block ORDER BY time_ns) AS before_life,
    lead(time_ns) OVER (PARTITION BY grain, region_type, mapping_kind, source, pid, block ORDER BY time_ns) AS after_ns
  FROM stores
),
marked AS (
  SELECT o.*,
    CASE WHEN before_ns IS NULL OR died_ns <= time_ns OR before_life <> cache_life THEN 1 ELSE 0 END AS is_life,
    CASE WHEN before_ns IS NULL OR died_ns <= time_ns OR before_life <> cache_life OR time_ns - before_ns >= s.gap_ns
      THEN 1 ELSE 0 END AS is_run
  FROM ordered AS o CROSS JOIN span AS s
),
ends AS (
  SELECT *,
    lag(place) OVER (PARTITION BY grain, region_type, mapping_kind, source, pid, block ORDER BY place) AS place_before,
    lag(time_ns) OVER (PARTITION BY grain, region_type, mapping_kind, source, pid, block ORDER BY place) AS first_ns,
    lead(place) OVER (PARTITION BY grain, region_type, mapping_kind, source, pid, block ORDER BY place) AS next_place,
    lead(is_run) OVER (PARTITION BY grain, region_type, mapping_kind, source, pid, block ORDER BY place) AS next_is_run,
    lead(time_ns) OVER (PARTITION BY grain, region_type, mapping_kind, source, pid, block ORDER BY place) AS next_ns,
    lead(before_ns) OVER (PARTITION BY grain, region_type, mapping_kind, source, pid, block ORDER BY place) AS next_before_ns,
    sum(is_life) OVER (PARTITION BY grain, region_type, mapping_kind, source, pid, block ORDER BY place) AS life
  FROM marked
  WHERE is_run = 1 OR after_ns IS NULL
),
runs AS (
  SELECT *,
    CASE WHEN next_place IS NULL THEN 1 WHEN next_is_run = 1 THEN next_place - place ELSE next_place - place + 1 END AS n,
    CASE WHEN next_place IS NULL THEN time_ns WHEN next_is_run = 1 THEN next_before_ns ELSE next_ns END AS end_ns,
    CASE WHEN is_life = 0 THEN place - place_before END AS n_before
  FROM ends
  WHERE is_run = 1
),
chances AS (
  SELECT *,
    greatest(
      n * power(CAST(greatest(end_ns - time_ns, 1) AS DOUBLE) / (greatest(end_ns - time_ns, 1) + time_ns - before_ns), n - 1),
      n_before * power(
        CAST(greatest(before_ns - first_ns, 1) AS DOUBLE) / (greatest(before_ns - first_ns, 1) + time_ns - before_ns),
        n_before - 1)
    ) AS chance
  FROM (SELECT * FROM runs WHERE is_life = 0) AS later
  UNION ALL
  SELECT *, CAST(NULL AS DOUBLE) AS chance FROM runs WHERE is_life = 1
),
blocks AS (
  SELECT grain, region_type, mapping_kind, source, pid, block, life,
    count(*) AS runs,
    sum(n) AS samples,
    sum(CASE WHEN n = 1 THEN 1 ELSE 0 END) AS runs_of_1,
    sum(CASE WHEN n = 2 THEN 1 ELSE 0 END) AS runs_of_2,
    CASE WHEN count(*) = 1 THEN 'once' WHEN min(chance) * (count(*) - 1) <= ${FALSE_CHANCE} THEN 'rewritten' ELSE 'open' END AS seen
  FROM chances
  GROUP BY 1, 2, 3, 4, 5, 6, 7
)
SELECT grain, region_type, mapping_kind, source, seen,
  count(*) AS blocks,
  CAST(sum(runs) AS BIGINT) AS runs,
  CAST(sum(samples) AS BIGINT) AS samples,
  CAST(sum(runs_of_1) AS BIGINT) AS runs_of_1,
  CAST(sum(runs_of_2) AS BIGINT) AS runs_of_2
FROM blocks
GROUP BY 1, 2, 3, 4, 5
ORDER BY 1, 2, 3, 4, 5`;
