/**
 * Distinct 64 B lines and 4 KiB pages of sampled sources per class, step and source, and how many lines were seen once
 * and twice. Reads the views `trace`, `region_map` and `span`, as access-blocks does, and counts like it: `none` is the
 * whole of generation.
 */
export const ACCESS_LINES = `
WITH seen AS (
  SELECT t.region_id, t.source, t.pid, t.address >> 6 AS line,
    count(CASE WHEN t.step = 'prefill' THEN 1 END) AS n_prefill,
    count(CASE WHEN t.step = 'decode' THEN 1 END) AS n_decode,
    count(*) AS n_all
  FROM trace AS t CROSS JOIN span AS s
  WHERE t.source <> 'watch' AND t.timestamp_ns >= s.begin_ns AND t.timestamp_ns <= s.end_ns
  GROUP BY 1, 2, 3, 4
),
classed AS (
  SELECT
    coalesce(m.region_type, 'unknown') AS region_type,
    CASE WHEN m.region_type = 'unknown' THEN m.mapping_kind END AS mapping_kind,
    l.source,
    l.pid,
    l.line,
    sum(l.n_prefill) AS n_prefill,
    sum(l.n_decode) AS n_decode,
    sum(l.n_all) AS n_all
  FROM seen AS l LEFT JOIN region_map AS m ON m.region_id = l.region_id
  GROUP BY 1, 2, 3, 4, 5
),
lines AS (
  SELECT region_type, mapping_kind, source, 'prefill' AS step, pid, line, n_prefill AS n
  FROM classed WHERE n_prefill > 0
  UNION ALL
  SELECT region_type, mapping_kind, source, 'decode' AS step, pid, line, n_decode AS n
  FROM classed WHERE n_decode > 0
  UNION ALL
  SELECT region_type, mapping_kind, source, 'none' AS step, pid, line, n_all AS n
  FROM classed
),
pages AS (
  SELECT region_type, mapping_kind, source, step, pid, line >> 6 AS page,
    count(*) AS lines,
    sum(CASE WHEN n = 1 THEN 1 ELSE 0 END) AS lines_once,
    sum(CASE WHEN n = 2 THEN 1 ELSE 0 END) AS lines_twice
  FROM lines
  GROUP BY 1, 2, 3, 4, 5, 6
)
SELECT region_type, mapping_kind, source, step,
  CAST(sum(lines) AS BIGINT) AS distinct_lines,
  CAST(sum(lines_once) AS BIGINT) AS lines_once,
  CAST(sum(lines_twice) AS BIGINT) AS lines_twice,
  count(*) AS distinct_pages
FROM pages
GROUP BY 1, 2, 3, 4
ORDER BY 1, 2, 3, 4`;
