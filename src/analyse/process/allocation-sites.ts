/**
 * The 20 places in the program that held most bytes at the peak, most first: sums of all stacks and threads that
 * allocate there. A place is a line of Python; of a stack without Python the object of its innermost native frame. Reads
 * the views `allocation_site` and `allocation_stack`.
 */
export const ALLOCATION_SITES = `
WITH placed AS (
  SELECT
    s.pid, s.allocator, p.function, p.line,
    CASE WHEN s.stack_id IS NULL THEN n.file ELSE p.file END AS file,
    s.peak_allocations, s.peak_bytes, s.leaked_allocations, s.leaked_bytes
  FROM allocation_site AS s
  LEFT JOIN allocation_stack AS p ON p.kind = 'python' AND p.pid = s.pid AND p.stack_id = s.stack_id
  LEFT JOIN allocation_stack AS n ON n.kind = 'native' AND n.pid = s.pid AND n.stack_id = s.native_stack_id
)
SELECT
  pid, allocator, function, file, line,
  CAST(sum(peak_allocations) AS DOUBLE) AS peak_allocations,
  CAST(sum(peak_bytes) AS DOUBLE) AS peak_bytes,
  CAST(sum(leaked_allocations) AS DOUBLE) AS leaked_allocations,
  CAST(sum(leaked_bytes) AS DOUBLE) AS leaked_bytes
FROM placed
GROUP BY pid, allocator, function, file, line
ORDER BY peak_bytes DESC, leaked_bytes DESC, pid, allocator, file, line, function
LIMIT 20`;
