/**
 * Distinct blocks of 64 B, 4 KiB, 64 KiB and 2 MiB of sampled sources per class, step and source, and how many of each
 * were seen once and twice; rows that stand for no access are left out. Reads the views `trace`, `region_map` and `span`, as access-blocks does, and counts like it: `none` is the
 * whole of generation.
 */
export const ACCESS_LINES = `
WITH seen AS (
  SELECT t.region_id, t.source, t.pid, t.address >> 6 AS line,
    count(CASE WHEN t.step = 'prefill' THEN 1 END) AS n_prefill,
    count(CASE WHEN t.step = 'decode' THEN 1 END) AS n_decode,
    count(*) AS n_all
  FROM trace AS t CROSS JOIN span AS s
  WHERE t.source <> 'watch' AND coalesce(t.period, 1) > 0 AND t.timestamp_ns >= s.begin_ns AND t.timestamp_ns <= s.end_ns
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
    sum(n) AS n,
    count(*) AS lines,
    sum(CASE WHEN n = 1 THEN 1 ELSE 0 END) AS lines_once,
    sum(CASE WHEN n = 2 THEN 1 ELSE 0 END) AS lines_twice
  FROM lines
  GROUP BY 1, 2, 3, 4, 5, 6
),
chunks AS (
  SELECT region_type, mapping_kind, source, step, pid, page >> 4 AS chunk,
    sum(n) AS n,
    sum(lines) AS lines, sum(lines_once) AS lines_once, sum(lines_twice) AS lines_twice,
    count(*) AS pages,
    sum(CASE WHEN n = 1 THEN 1 ELSE 0 END) AS pages_once,
    sum(CASE WHEN n = 2 THEN 1 ELSE 0 END) AS pages_twice
  FROM pages
  GROUP BY 1, 2, 3, 4, 5, 6
),
huge AS (
  SELECT region_type, mapping_kind, source, step, pid, chunk >> 5 AS huge_page,
    sum(n) AS n,
    sum(lines) AS lines, sum(lines_once) AS lines_once, sum(lines_twice) AS lines_twice,
    sum(pages) AS pages, sum(pages_once) AS pages_once, sum(pages_twice) AS pages_twice,
    count(*) AS chunks,
    sum(CASE WHEN n = 1 THEN 1 ELSE 0 END) AS chunks_once,
    sum(CASE WHEN n = 2 THEN 1 ELSE 0 END) AS chunks_twice
  FROM chunks
  GROUP BY 1, 2, 3, 4, 5, 6
)
SELECT region_type, mapping_kind, source, step,
  CAST(sum(lines) AS BIGINT) AS distinct_64,
  CAST(sum(lines_once) AS BIGINT) AS once_64,
  CAST(sum(lines_twice) AS BIGINT) AS twice_64,
  CAST(sum(pages) AS BIGINT) AS distinct_4096,
  CAST(sum(pages_once) AS BIGINT) AS once_4096,
  CAST(sum(pages_twice) AS BIGINT) AS twice_4096,
  CAST(sum(chunks) AS BIGINT) AS distinct_65536,
  CAST(sum(chunks_once) AS BIGINT) AS once_65536,
  CAST(sum(chunks_twice) AS BIGINT) AS twice_65536,
  count(*) AS distinct_2097152,
  CAST(sum(CASE WHEN n = 1 THEN 1 ELSE 0 END) AS BIGINT) AS once_2097152,
  CAST(sum(CASE WHEN n = 2 THEN 1 ELSE 0 END) AS BIGINT) AS twice_2097152
FROM huge
GROUP BY 1, 2, 3, 4
ORDER BY 1, 2, 3, 4`;
