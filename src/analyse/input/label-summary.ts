/**
 * Regions, most bytes held at a time and accesses per class; unnamed classes by kind of mapping. Reads `region_map`,
 * but for its allocations: it has the largest of them only.
 */
export const LABEL_SUMMARY = `
WITH classed AS (
  SELECT
    region_type,
    CASE WHEN region_type = 'unknown' THEN mapping_kind END AS mapping_kind,
    size_bytes, access_count, birth_ns, death_ns
  FROM region_map
  WHERE evidence <> 'memray'
),
changes AS (
  SELECT region_type, mapping_kind, birth_ns AS moment_ns, CAST(size_bytes AS BIGINT) AS change FROM classed
  UNION ALL
  SELECT region_type, mapping_kind, death_ns AS moment_ns, -CAST(size_bytes AS BIGINT) AS change FROM classed
),
held AS (
  SELECT region_type, mapping_kind,
    sum(change) OVER (
      PARTITION BY region_type, mapping_kind ORDER BY moment_ns, change ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS bytes
  FROM changes
),
peaks AS (
  SELECT region_type, mapping_kind, max(bytes) AS bytes FROM held GROUP BY 1, 2
),
counts AS (
  SELECT region_type, mapping_kind, count(*) AS regions, sum(access_count) AS accesses FROM classed GROUP BY 1, 2
)
SELECT c.region_type, c.mapping_kind, c.regions,
  CAST(p.bytes AS BIGINT) AS bytes, CAST(c.accesses AS BIGINT) AS accesses
FROM counts AS c JOIN peaks AS p
  ON p.region_type = c.region_type AND coalesce(p.mapping_kind, '') = coalesce(c.mapping_kind, '')
ORDER BY 1, 2`;
