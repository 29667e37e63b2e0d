/**
 * Sums of all processes per function, `all` for the whole: null where a process has none, since its capture was
 * aggregated. Reads the view `allocation_total`.
 */
export const ALLOCATION_TOTALS = `
SELECT
  allocator,
  count(*) AS processes,
  CAST(CASE WHEN count(allocations) = count(*) THEN sum(allocations) END AS DOUBLE) AS allocations,
  CAST(CASE WHEN count(allocated_bytes) = count(*) THEN sum(allocated_bytes) END AS DOUBLE) AS allocated_bytes,
  CAST(max(peak_bytes) AS DOUBLE) AS highest_peak_bytes,
  CAST(sum(peak_bytes) AS DOUBLE) AS peaks_bytes
FROM allocation_total
GROUP BY allocator
ORDER BY allocator`;
