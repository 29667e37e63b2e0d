-- What a run says, in SQL. Paths are below the folder of the run: cd RUN_DIR && duckdb -f /path/to/answer.sql

-- Figures with a value, by class of data, times in s. The step tells prompts from decoded tokens.
SELECT
  metric,
  region_type,
  phase,
  CASE unit WHEN 'ns' THEN value / 1e9 ELSE value END AS value,
  CASE unit WHEN 'ns' THEN lo / 1e9 ELSE lo END AS lo,
  CASE unit WHEN 'ns' THEN hi / 1e9 ELSE hi END AS hi,
  CASE unit WHEN 'ns' THEN 's' ELSE unit END AS unit,
  n,
  step
FROM 'metrics.parquet'
WHERE status = 'ok' AND scope = 'class'
ORDER BY metric, region_type, phase;

-- The regions that were seen to be used most.
SELECT name, region_type, size_bytes, (death_ns - birth_ns) / 1e9 AS lived_s, access_count
FROM 'region_map.parquet'
ORDER BY access_count DESC, size_bytes DESC
LIMIT 10;

-- Loads and stores seen of each tensor. A row stands for as many accesses as its period says. Watches are no sample of the rest.
SELECT tensor, source, op_type, sum(period) AS accesses
FROM 'trace/*.parquet'
WHERE tensor IS NOT NULL
GROUP BY ALL
ORDER BY accesses DESC
LIMIT 10;
