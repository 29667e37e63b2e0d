/**
 * Distinct 64 B lines and 4 KiB pages of sampled sources per class, step and source, and how many lines were seen once
 * and twice. Reads the views `trace`, `region_map` and `span`, as access-blocks does, and counts like it: `none` is the
 * whole of generation.
 */
export const ACCESS_LINES = `
WITH seen AS (
  SELECT t.region_id, t.region_type, t.source, t.pid, t.step, t.address >> 6 AS line, count(*) AS n
  FROM trace AS t CROSS JOIN span AS s
  WHERE t.source <> 'watch' AND t.timestamp_ns >= s.begin_ns AND t.timestamp_ns <= s.end_ns
  GROUP BY 1, 2, 3, 4, 5, 6
),
classed AS (
  SELECT
    l.region_type,
    CASE WHEN l.region_type = 'unknown' THEN m.mapping_kind END AS mapping_kind,
    l.source,
    l.pid,
    l.step,
    l.line,
    l.n
  FROM seen AS l LEFT JOIN region_map AS m ON m.region_id = l.region_id
),
lines AS (
  SELECT region_type, mapping_kind, source, step, pid, line, sum(n) AS n
  FROM classed WHERE step IS NOT NULL
  GROUP BY 1, 2, 3, 4, 5, 6
  UNION ALL
  SELECT region_type, mapping_kind, source, 'none' AS step, pid, line, sum(n) AS n
  FROM classed
  GROUP BY 1, 2, 3, 5, 6
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
