/**
 * Loads and stores of sampled sources per class, step, source and block of time: a token, or 100 ms outside decode.
 * Rows that stand for no access are left out. Reads the views `trace` and `region_map`, and `span` with one row: origin_ns, and the begin and end of generation.
 * Rows of a run with an engine come twice: for their step, and as `none` for the whole of generation.
 */
export const ACCESS_BLOCKS = `
WITH blocks AS (
  SELECT
    t.region_id,
    t.region_type,
    t.source,
    coalesce(t.step, 'none') AS step,
    t.token_index,
    CAST(floor((t.timestamp_ns - s.origin_ns) / 100000000) AS BIGINT) AS block,
    sum(CASE WHEN t.op_type IN ('load', 'load_store') THEN t.period ELSE 0 END) AS loads,
    sum(CASE WHEN t.op_type IN ('store', 'load_store') THEN t.period ELSE 0 END) AS stores,
    count(*) AS n
  FROM trace AS t CROSS JOIN span AS s
  WHERE t.source <> 'watch' AND coalesce(t.period, 1) > 0 AND t.timestamp_ns >= s.begin_ns AND t.timestamp_ns <= s.end_ns
  GROUP BY 1, 2, 3, 4, 5, 6
),
classed AS (
  SELECT
    b.region_type,
    CASE WHEN b.region_type = 'unknown' THEN m.mapping_kind END AS mapping_kind,
    b.source,
    b.step,
    b.token_index,
    b.block,
    b.loads,
    b.stores,
    b.n
  FROM blocks AS b LEFT JOIN region_map AS m ON m.region_id = b.region_id
)
SELECT region_type, mapping_kind, source, step,
  CASE WHEN step = 'decode' THEN token_index ELSE block END AS block,
  CAST(sum(loads) AS DOUBLE) AS loads, CAST(sum(stores) AS DOUBLE) AS stores, CAST(sum(n) AS BIGINT) AS n
FROM classed WHERE step <> 'none'
GROUP BY 1, 2, 3, 4, 5
UNION ALL
SELECT region_type, mapping_kind, source, 'none' AS step, block,
  CAST(sum(loads) AS DOUBLE) AS loads, CAST(sum(stores) AS DOUBLE) AS stores, CAST(sum(n) AS BIGINT) AS n
FROM classed
GROUP BY 1, 2, 3, 5
ORDER BY 1, 2, 3, 4, 5`;
