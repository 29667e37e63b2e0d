/** Where an axis has its ticks. */

/** Round numbers across a span, about `count` of them. */
export function ticks(begin: number, end: number, count: number): number[] {
  const rough = (end - begin) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((size) => size >= rough) ?? rough;
  const out: number[] = [];
  for (let tick = Math.ceil(begin / step) * step; tick <= end; tick += step) out.push(tick);
  return out;
}

/** At most seven powers of ten within a span, of bytes powers of two; the ends of a span that holds none. */
export function logTicks(low: number, high: number, unit: string): number[] {
  const base = unit.startsWith("bytes") ? 2 : 10;
  const [first, last] = [Math.ceil(Math.log(low) / Math.log(base)), Math.floor(Math.log(high) / Math.log(base))];
  const step = Math.max(1, Math.ceil((last - first) / 6));
  const out: number[] = [];
  for (let power = first; power <= last; power += step) out.push(base ** power);
  return out.length > 0 ? out : [low, high];
}
