/** Benchmarks as text: the machine, then a block of lines per benchmark. */
import { loadavg } from "node:os";
import type { HostFacts } from "../src/overhead/host.ts";
import { formatBytes, formatCount } from "../src/units.ts";
import type { BenchRow } from "../tests/performance/bench-row.ts";

const WHAT_WIDTH = 58;
const FIGURE_WIDTH = 20;
const TARGET_WIDTH = 12;

/** What the figures depend on. */
export function hostLines(host: HostFacts): string {
  const known = (value: string | number | null): string => (value === null ? "unknown" : String(value));
  const load = loadavg().map((value) => value.toFixed(2));
  return [
    `${known(host.os)}, kernel ${known(host.kernel)}, ${host.architecture}, bun ${Bun.version}`,
    `${host.cpus} x ${known(host.cpu_model)}, virtualisation: ${known(host.virtualisation)}, governor: ${known(host.governor)}`,
    `memory ${host.memory_total_bytes === null ? "unknown" : formatBytes(host.memory_total_bytes)}, huge pages: ${known(host.transparent_hugepage)}`,
    `load average at the start ${load.join(" ")}: what else runs here is in the figures`,
    "",
  ].join("\n");
}

function figure(value: number | null, unit: string): string {
  // JSON has no NaN: a figure that could not be formed arrives as null.
  if (value === null || !Number.isFinite(value)) return "not measured";
  if (unit === "B" || unit === "bytes") return formatBytes(value);
  return unit === "1" ? formatCount(value) : `${formatCount(value)} ${unit}`;
}

function line(row: BenchRow): string {
  const without = row.target === null ? "" : row.value !== null && row.value <= 0 ? "lost in noise" : "not measured";
  const ratio = row.ratio === null ? without : `${row.ratio.toFixed(2)} x`;
  const target = row.target === null ? "" : `target ${figure(row.target, row.unit)}`;
  const cells = [row.what.padEnd(WHAT_WIDTH), figure(row.value, row.unit).padStart(FIGURE_WIDTH)];
  const text = `  ${cells.join("  ")}  ${target.padEnd(TARGET_WIDTH + 8)}  ${ratio}`.trimEnd();
  return row.note === undefined ? `${text}\n` : `${text}\n      ${row.note}\n`;
}

/** The figures of one benchmark; `ratio` is how many times better than the target: above 1 is reached. */
export function benchTable(result: {
  readonly name: string;
  readonly seconds: number;
  readonly rows: readonly BenchRow[];
  readonly error: string | null;
}): string {
  const head = `\n${result.name} (${result.seconds.toFixed(0)} s)\n`;
  return result.error === null ? head + result.rows.map(line).join("") : `${head}  FAILED: ${result.error}\n`;
}
