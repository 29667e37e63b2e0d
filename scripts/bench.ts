/** Measures the numbers that the project promises, as ratios to their targets: `bun run bench [NAME ...]`. */
import { parseArgs } from "node:util";
import { hostFacts } from "../src/overhead/host.ts";
import type { BenchOptions, BenchRow } from "../tests/performance/bench-row.ts";
import { BENCHMARKS } from "../tests/performance/benchmarks.ts";
import { benchTable, hostLines } from "./bench-table.ts";

const USAGE = `usage: bun run bench [--json] [--quick] [--blocks N] [${Object.keys(BENCHMARKS).join("] [")}]
  --blocks N  paired blocks where arms are compared; default 6
  --quick     small sizes, to see that everything works: the figures then mean little
  --json      one JSON object on stdout
It needs root, an otherwise idle machine and about half an hour. Wall time decides nothing: the exit code is 0 unless a benchmark fails.
`;
const DEFAULT_BLOCKS = 6;

interface Result {
  readonly name: string;
  readonly seconds: number;
  readonly rows: readonly BenchRow[];
  /** What went wrong; null when the figures are there. */
  readonly error: string | null;
}

/** Every benchmark has a process of its own, so that neither memory nor compiled code of another one counts. */
async function runApart(name: string, options: BenchOptions): Promise<Result> {
  const argv = [process.execPath, import.meta.path, "--one", name, "--blocks", String(options.blocks)];
  const begin = performance.now();
  const child = Bun.spawn(options.quick ? [...argv, "--quick"] : argv, {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const ended = await child.exited;
  const seconds = (performance.now() - begin) / 1e3;
  if (ended === 0) return { name, seconds, rows: JSON.parse(stdout) as BenchRow[], error: null };
  return { name, seconds, rows: [], error: stderr.trim().slice(-2000) || `it ended with ${child.signalCode ?? ended}` };
}

function fail(message: string): never {
  process.stderr.write(`${message}\n${USAGE}`);
  process.exit(2);
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        json: { type: "boolean", default: false },
        quick: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
        blocks: { type: "string", default: String(DEFAULT_BLOCKS) },
        one: { type: "string" },
      },
    });
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

const { values, positionals } = readArguments();
if (values.help) {
  process.stdout.write(USAGE);
  process.exit(0);
}
const options: BenchOptions = { blocks: Number(values.blocks), quick: values.quick };
if (!Number.isInteger(options.blocks) || options.blocks < 1)
  fail(`--blocks: a count expected, but received "${values.blocks}"`);
const unknown = [...positionals, ...(values.one === undefined ? [] : [values.one])].find(
  (name) => !(name in BENCHMARKS),
);
if (unknown !== undefined) fail(`there is no benchmark "${unknown}"`);

if (values.one !== undefined) {
  const benchmark = BENCHMARKS[values.one];
  process.stdout.write(JSON.stringify(await benchmark?.(options)));
  process.exit(0);
}

const host = hostFacts();
if (!values.json) process.stdout.write(hostLines(host));
const results: Result[] = [];
for (const name of positionals.length > 0 ? positionals : Object.keys(BENCHMARKS)) {
  const result = await runApart(name, options);
  results.push(result);
  if (!values.json) process.stdout.write(benchTable(result));
}
if (values.json) process.stdout.write(`${JSON.stringify({ host, options, benchmarks: results })}\n`);
process.exit(results.some((result) => result.error !== null) ? 1 : 0);
