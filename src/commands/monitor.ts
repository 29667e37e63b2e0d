/** `mrm-trace monitor`: memory of a process tree as CSV, without root or tracing. */
import { defineCommand } from "citty";
import { flagsOf, givenOptions } from "../config/flags.ts";
import { type MonitorOptions, monitorSchema } from "../config/monitor.ts";
import { parseOptions } from "../config/schema.ts";
import { EXIT_CODES, MrmTraceError } from "../errors.ts";
import { type MonitorResult, monitor } from "../pipelines/monitor.ts";
import { reasonOf, watchSignals } from "../record/signals.ts";
import { createLineFile, type LineFile } from "../report/line-file.ts";
import { createLinePipe } from "../report/standard-output/line-pipe.ts";
import { printable } from "../report/terminal.ts";
import { toJson } from "../schema/run-json.ts";
import { JSON_SCHEMA_VERSION } from "../schema/versions.ts";
import { asUser } from "../target/acting-user.ts";
import { invokingUser } from "../target/invoking-user.ts";
import { formatBytes, formatCount, formatNs } from "../units.ts";

const flags = flagsOf(monitorSchema);

/** @throws MrmTraceError usage */
function checkChoices({ name, pid, json, output }: MonitorOptions): void {
  if ((name === undefined) === (pid === undefined)) {
    throw new MrmTraceError(
      "usage",
      "one of --name and --pid expected",
      "give one of them, such as: mrm-trace monitor --name ollama",
    );
  }
  if (json && output === undefined) {
    throw new MrmTraceError("usage", "--json and the CSV both want stdout", "give the CSV a file: --output FILE.csv");
  }
}

/** How long a reader of stdout may take for the last lines after a signal. */
const LAST_LINES_MS = 1000;

const WORDS: Record<MonitorResult["stopped_by"], string> = {
  exited: "the process has ended",
  duration: "the time is over",
  max_samples: "that many samples were asked for",
  cooldown: "memory is back where it began",
  interrupted: "interrupted",
  terminated: "terminated",
  hangup: "the terminal is gone",
  closed: "nobody reads the output any more",
};

/** A file of the user behind sudo, where only they may write. */
const newFile = (path: string, force: boolean): LineFile => asUser(invokingUser(), () => createLineFile(path, force));

function summary(result: MonitorResult): string {
  const peak = `peak ${formatBytes(result.peak_rss_bytes)} of RSS`;
  const cost = result.own_cpu_pct === null ? "" : `; watching took ${formatCount(result.own_cpu_pct)} % of one CPU`;
  const pids = `${result.pids.length} ${result.pids.length === 1 ? "process" : "processes"}`;
  const span = `${result.samples} samples in ${formatNs(result.window_ns)}`;
  return `${WORDS[result.stopped_by]}: ${span}, ${pids}, ${peak}${cost}`;
}

function exitCodeOf(result: MonitorResult): number {
  const { stopped_by } = result;
  const isSignal = stopped_by === "interrupted" || stopped_by === "terminated" || stopped_by === "hangup";
  return isSignal ? EXIT_CODES[stopped_by] : EXIT_CODES.ok;
}

export const monitorCommand = defineCommand({
  meta: { name: "monitor", description: "Write the memory of a process tree as CSV, without tracing it" },
  args: flags,
  async run({ args }) {
    const options = parseOptions(monitorSchema, givenOptions(monitorSchema, args));
    checkChoices(options);
    using signals = watchSignals();
    using file = options.output === undefined ? null : newFile(options.output, options.force);
    const say = (line: string): void => {
      if (!options.quiet) process.stderr.write(`mrm-trace: ${printable(line)}\n`);
    };
    const stdout = createLinePipe(1);
    const write = (line: string): boolean => {
      if (file === null) return stdout.write(line);
      file.write(line);
      return true;
    };
    const result = await monitor({ options, write, say, stopped: () => signals.received });
    let signalled_ms: number | null = null;
    await stdout.drain(() => {
      if (signals.received !== null) signalled_ms ??= performance.now();
      return signalled_ms !== null && performance.now() - signalled_ms > LAST_LINES_MS;
    });
    if (result === null) {
      const code = reasonOf(signals.received ?? "SIGTERM");
      throw new MrmTraceError(
        code,
        "stopped before the process appeared",
        "start it, or find its name with: pgrep -fl NAME",
      );
    }
    say(summary(result));
    if (options.json) {
      const output = { schema_version: JSON_SCHEMA_VERSION, output: options.output ?? null, ...result };
      process.stdout.write(`${toJson(output)}\n`);
    }
    return exitCodeOf(result);
  },
});
