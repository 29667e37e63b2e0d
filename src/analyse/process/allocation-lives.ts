/**
 * How long allocations lived, per function, in bins of 0.5 % of the middle time and of 4 % of what is not known of it; each
 * with the shortest and the longest time that it can have been, ns. What was not seen to end lived to the end of its
 * process's capture at least; an address that was given out again may have been freed at any time before that, and of what
 * was not followed nothing is known. Reads the views `allocation` and `allocation_end` (pid, end_ns, error_ns).
 */
export const ALLOCATION_LIVES = `
WITH timed AS (
  SELECT
    a.allocator,
    a.ended_by,
    CAST(a.size_bytes AS DOUBLE) AS bytes,
    CASE WHEN a.death_ns IS NULL THEN 0 ELSE 1 END AS ended,
    CAST(a.timestamp_ns AS DOUBLE) AS birth_ns,
    CAST(coalesce(a.death_ns, e.end_ns, a.timestamp_ns) AS DOUBLE) AS last_ns,
    CAST(a.birth_error_ns AS DOUBLE) + CAST(coalesce(a.death_error_ns, e.error_ns, 0) AS DOUBLE) AS error_ns
  FROM allocation AS a LEFT JOIN allocation_end AS e ON e.pid = a.pid
),
lived AS (
  SELECT
    allocator, ended, bytes,
    CASE WHEN ended_by = 'unpaired' THEN 0 ELSE greatest(0, last_ns - birth_ns) END AS middle_ns,
    CASE WHEN ended_by IN ('unpaired', 'replaced') THEN 0 ELSE greatest(0, last_ns - birth_ns - error_ns) END AS least_ns,
    CASE WHEN ended_by = 'unpaired' THEN 0 ELSE greatest(0, last_ns - birth_ns + error_ns) END AS most_ns
  FROM timed
),
binned AS (
  SELECT
    allocator, ended, bytes, middle_ns, least_ns, most_ns,
    CASE WHEN middle_ns < 1 THEN -1 ELSE CAST(floor(128 * log2(middle_ns)) AS INTEGER) END AS bin,
    CASE WHEN most_ns - least_ns < 1 THEN -1 ELSE CAST(floor(16 * log2(most_ns - least_ns)) AS INTEGER) END AS width
  FROM lived
)
SELECT
  allocator, ended,
  count(*) AS n,
  sum(bytes) AS bytes,
  avg(middle_ns) AS middle_ns,
  min(least_ns) AS least_ns,
  max(most_ns) AS most_ns
FROM binned
GROUP BY allocator, ended, bin, width
ORDER BY allocator, ended, bin, width`;
