/**
 * The memray collector: starts a Python program under `memray run` and reads what that wrote when the program has ended.
 *
 * memray sees allocations and frees. Their addresses, sizes and order are exact; their times lie between two of its
 * memory records; reads and writes it never sees.
 */

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Batch } from "../../columnar/batch.ts";
import { type ClockPair, clockPair } from "../../columnar/clock-pairs.ts";
import type { CommandRecording, MemrayOption } from "../../config/schema.ts";
import { MrmTraceError } from "../../errors.ts";
import { monotonicNs, realtimeNs } from "../../kernel/libc.ts";
import { shown } from "../../run-directory/held-folder.ts";
import { recordedCommandText } from "../../run-directory/recorded-command.ts";
import type { LedgerRow } from "../../schema/ledger.ts";
import { findProgram } from "../../target/held-command.ts";
import type { Capability, Collector, CollectorCost, Target } from "../collector.ts";
import { type CaptureFolder, openCaptureFolder } from "./capture-folder.ts";
import { captureWarnings, detailsOf, IDENTIFIES, MEMRAY_BLIND_TO } from "./capture-report.ts";
import { captureLedger } from "./capture-summary.ts";
import { hideCommand } from "./hide-command.ts";
import { type MemrayVersion, memrayVersion } from "./memray-version.ts";
import { pythonCommand } from "./python-command.ts";
import { readCapture } from "./read-capture.ts";

export interface MemrayOptions {
  /** The run's folder for files of outside tools. */
  readonly rawDir: string;
  readonly record: readonly MemrayOption[];
  /** What the captures may keep of the command line, which memray writes into them. */
  readonly recordCommand: CommandRecording;
}

const FLAGS: Readonly<Record<MemrayOption, string>> = {
  native: "--native",
  "follow-fork": "--follow-fork",
  aggregate: "--aggregate",
  "python-allocators": "--trace-python-allocators",
};

/** What a record costs the target, ns: measured without stacks of native frames, and with them at the upper end. */
const RECORD_COST = { value: 83, lo: 80, hi: 230 } as const;
/** What no count of records tells: loops that allocate nothing took 1.8 times as long. */
const HOOK =
  "memray also hooks every call in Python, which is not in the estimated slowdown; measure it with: mrm-trace compare --arms off,memray -- COMMAND";

/** How to get memray: pip refuses to touch a Python that the system's packages manage, so that one gets an environment. */
function installHint(interpreter: string): string {
  const path = findProgram(interpreter) ?? interpreter;
  if (existsSync(join(dirname(path), "..", "pyvenv.cfg"))) return `${interpreter} -m pip install memray`;
  return `${interpreter} -m venv .venv && .venv/bin/pip install memray, and give .venv/bin/python3 in place of ${interpreter}`;
}

/** One reading of both clocks. */
function bothClocks(): ClockPair {
  const before = monotonicNs();
  const other = realtimeNs();
  return clockPair(before, other, monotonicNs());
}

/** The pair at the start, as uncertain as the clock of the machine was set in between. */
export function clockOver(first: ClockPair, last: ClockPair): ClockPair {
  const moved = last.other_ns - last.monotonic_ns - (first.other_ns - first.monotonic_ns);
  const uncertainty_ns = first.uncertainty_ns + last.uncertainty_ns + (moved < 0n ? -moved : moved);
  return { ...first, uncertainty_ns };
}

/** A collector for one run. */
export function createMemrayCollector(options: MemrayOptions): Collector {
  let folder: CaptureFolder | null = null;
  let begun: ClockPair | null = null;
  const warnings: string[] = [];
  const details: Record<string, unknown>[] = [];
  const versions = new Map<string, MemrayVersion>();
  let records = 0;

  async function canRun(target: Target): Promise<Capability> {
    if (!target.held) {
      return {
        ok: false,
        reason: `memray has to start the program, and process ${target.pid} runs already`,
        hint: "leave memray out here, or start the program anew: mrm-trace run --collector memray -- python3 script.py",
      };
    }
    const python = pythonCommand(target.command, findProgram);
    if (python === null) {
      const what = target.command.length === 0 ? "the demo" : `"${target.command[0]}"`;
      return {
        ok: false,
        reason: `memray records Python programs, and ${what} starts none with a script, -m or -c`,
        hint: "give a command such as: mrm-trace run --collector memray -- python3 script.py",
      };
    }
    const version = versions.get(python.interpreter) ?? (await memrayVersion(python.interpreter));
    versions.set(python.interpreter, version);
    if (!version.ok) {
      return {
        ok: false,
        reason: `${python.interpreter} cannot load memray: ${version.reason}`,
        hint: installHint(python.interpreter),
      };
    }
    return { ok: true, sources: [], whyNotBetter: "", identifies: IDENTIFIES, blindTo: MEMRAY_BLIND_TO };
  }

  /** Reads the captures one after the other; each batch must be copied before the next is asked for. */
  function* batchesOf(paths: readonly string[], clock: ClockPair, ledger: LedgerRow[]): Generator<Batch> {
    for (const path of paths) {
      try {
        const reading = readCapture(path, { clock });
        yield* reading.batches;
        const summary = reading.summary();
        if (summary === null) continue;
        ledger.push(...captureLedger(reading.header.pid, reading.header, summary, "recorded"));
        records += summary.totals.records;
        warnings.push(...captureWarnings(shown(path), reading.header, summary));
        details.push({ path: shown(path), ...detailsOf(reading.header, summary) });
      } catch (error) {
        if (!(error instanceof MrmTraceError)) throw error;
        warnings.push(shown(`${error.message}; ${error.hint}`));
        ledger.push(nothingRead());
      }
    }
  }

  return {
    name: "memray",
    canRun,
    launch(command) {
      const python = pythonCommand(command, findProgram);
      if (python === null) return command;
      folder ??= openCaptureFolder(options.rawDir);
      const { interpreter, options: words, program } = python;
      const flags = options.record.map((name) => FLAGS[name]);
      const typed = program.join(" ");
      // Only in a raw capture can it be changed in its place.
      if (recordedCommandText(typed, options.recordCommand) !== typed) flags.push("--no-compress");
      return [interpreter, ...words, "-m", "memray", "run", "-q", "-f", ...flags, "-o", folder.file, ...program];
    },
    async start() {
      begun = bothClocks();
    },
    batches: () => [],
    async stop() {
      const ledger: LedgerRow[] = [];
      if (begun === null || folder === null) return { batches: [], ledger };
      const clock = clockOver(begun, bothClocks());
      const { paths, refused } = folder.settle();
      warnings.push(...paths.flatMap((path) => stillTyped(path, options.recordCommand)));
      for (const name of refused) {
        warnings.push(
          `${name} was not read: in its place stood a link, what its user may not read, or more than the disk has room for`,
        );
        ledger.push(nothingRead());
      }
      if (paths.length === 0) {
        warnings.push("memray wrote no capture: the program did not start, or memray refused it");
        ledger.push(nothingRead());
      } else warnings.push(HOOK);
      folder.dispose();
      begun = null;
      return { batches: batchesOf(paths, clock, ledger), ledger };
    },
    warnings: () => (begun === null || folder === null ? warnings : [unread(folder.file)]),
    costs: (): CollectorCost[] =>
      records === 0 ? [] : [{ what: "memray records", count: records, each_ns: RECORD_COST }],
    details: () => ({ memray: { captures: details } }),
  };
}

/** Hides the command line in a capture; the warning where that cannot be done. */
function stillTyped(path: string, how: CommandRecording): string[] {
  try {
    if (hideCommand(path, how)) return [];
  } catch (error) {
    // What is no capture is told when it is read.
    if (error instanceof MrmTraceError) return [];
    throw error;
  }
  return [`${shown(path)} holds the command line as it was typed: memray compressed it`];
}

/** What is said while memray still writes: its records become rows only when the run ends. */
function unread(file: string): string {
  const path = shown(file);
  return `memray's records are read at the end of a run: should there be none, mrm-trace import ${path} reads them`;
}

/** What is said of a capture of which nothing can be said. */
function nothingRead(): LedgerRow {
  return {
    stream: "allocation",
    source: "allocation",
    stage: "decode",
    way: "memray",
    pid: null,
    seen: 0,
    kept: 0,
    filtered: 0,
    dropped: 0,
    dropped_by: {},
    unseen_estimate: null,
  };
}
