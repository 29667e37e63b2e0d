/** perf.data for `import`. */
import { MrmTraceError } from "../../errors.ts";
import { formatCounted } from "../../units.ts";
import type { Imported, Importer } from "../importer.ts";
import { createBreakpoints } from "./breakpoints.ts";
import { count, ledgerOf } from "./file/account.ts";
import type { FileEvent } from "./file/event.ts";
import { isPerfData } from "./file/header.ts";
import { type PerfFile, readPerfFile } from "./file/perf-file.ts";

const CLOCK_MONOTONIC = 1;

/** Sources of the rows, without repetition. */
export function sourcesOf(events: readonly FileEvent[]): string[] {
  const used = events.filter((event) => event.unused === null && event.use !== "fault");
  return [...new Set(used.map(({ source }) => source))];
}

/** Why the samples of these events identify no other metrics. */
export function blindTo(events: readonly FileEvent[]): string {
  const uses = new Set(events.filter(({ unused }) => unused === null).map(({ use }) => use));
  if (uses.size === 0) return "perf recorded no event with addresses";
  if (uses.size === 1 && uses.has("fault"))
    return "perf's page faults show the first touch of a page, not its accesses";
  if (uses.has("breakpoint")) return "perf's breakpoints show the addresses that were named, not drawn at random";
  return "perf's samples show single accesses, no births, deaths or whole histories";
}

/** Says of an event why its samples cannot be added up. */
export const noTotals = (name: string, why: string): string =>
  `${name} ${why}: its rows tell shares and levels, no totals`;

/** Says how often sampling was stopped for its rate. */
export const stoppedTimes = (throttles: number): string =>
  `the kernel slowed perf down ${throttles} times: it sampled less for a while`;

function warningsOf(path: string, file: PerfFile): string[] {
  const out: string[] = [];
  if (file.account.throttles > 0) out.push(stoppedTimes(file.account.throttles));
  if (file.broken !== null) out.push(`${path} was read up to byte ${file.broken.offset}: ${file.broken.why}`);
  const other = file.events.find(({ attribute }) => attribute.clockid !== CLOCK_MONOTONIC);
  if (other !== undefined) {
    out.push(`times are of perf's own clock, as ${other.name} was recorded without -k CLOCK_MONOTONIC`);
  }
  for (const event of file.events) {
    const { attribute, name, use } = event;
    // perf adds a dummy event for the records beside the samples.
    if (name.startsWith("dummy")) continue;
    if (event.unused !== null) out.push(`samples of ${name} are left out: ${event.unused.replaceAll("_", " ")}`);
    else if (use === "access" && event.uncounted !== null) out.push(noTotals(name, event.uncounted));
    else if (use === "access" && attribute.by_frequency && event.plan.period < 0) {
      out.push(
        `${name} was sampled by frequency and its samples have no period: its rows stand for no number of accesses`,
      );
    }
  }
  return out;
}

/** Says it where samples of timers, or all others, had to be left out, and how they are recorded to be read. */
function leftOutWarnings({ account, events }: PerfFile): string[] {
  const { filtered, samples } = account;
  const words = (reason: string): string => {
    const n = filtered.get(reason) ?? 0;
    return `${n > 1 && n === samples ? "all " : ""}${formatCounted(n, "sample")}`;
  };
  const out: string[] = [];
  if (filtered.has("not_decoded")) {
    const timers = events.filter(({ use }) => use === "timer").map(({ name }) => name);
    out.push(
      `${words("not_decoded")} of ${[...new Set(timers)].join(", ")} left out: they have no address, and an import cannot read the program's code to compute it; record so with: mrm-trace run --collector perf-mem --perf cpu-clock -- COMMAND`,
    );
  }
  if (filtered.has("no_address") && account.keptAccesses + account.keptFaults === 0) {
    out.push(`${words("no_address")} left out: no address; record them with perf record -d, or perf mem record`);
  }
  return out;
}

/** @throws MrmTraceError data_quality where nothing of it could be read */
function refuseEmpty(path: string, file: PerfFile): void {
  const { account, broken } = file;
  if (broken === null || account.keptAccesses + account.keptFaults > 0) return;
  throw new MrmTraceError(
    "data_quality",
    `${path} has no sample that can be read: at byte ${broken.offset}, ${broken.why}`,
    "record it again, or check it with: perf report --stats -i FILE",
  );
}

export const perfDataImporter: Importer = {
  format: "perf.data",
  matches: isPerfData,
  async read(path, sink): Promise<Imported> {
    const breakpoints = createBreakpoints();
    const file = await readPerfFile(path, {
      onBatch(batch) {
        breakpoints.look(batch);
        sink.onBatch(batch);
      },
      ready: () => sink.ready(),
    });
    refuseEmpty(path, file);
    const watches = breakpoints.watches(file.events);
    if (watches !== null) sink.onBatch(watches);
    const { account, events, facts } = file;
    if (file.broken !== null) count(account.dropped, "cut");
    return {
      collector: "perf-mem",
      sources: sourcesOf(events),
      identifies: sourcesOf(events),
      blindTo: blindTo(events),
      ledger: ledgerOf(account, "perf", sourcesOf(events)),
      warnings: [...warningsOf(path, file), ...leftOutWarnings(file)],
      command: facts.command ?? [],
      first_ns: file.first_ns,
      last_ns: file.last_ns,
      details: {
        format: file.pipe ? "perf.data, pipe mode" : "perf.data",
        big_endian: file.swapped,
        ...facts,
        events: events.map(({ name, use, attribute }) => ({ name, use, period: attribute.sample_period })),
        samples: account.samples,
        records: account.records,
        throttles: account.throttles,
        left_out: Object.fromEntries(account.filtered),
      },
    };
  },
};
