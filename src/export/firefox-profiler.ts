/** `firefox-profiler`: what happened by which code as a processed profile of profiler.firefox.com, one track for each value of a process. */
import type { RunMetadata } from "../schema/run-metadata.ts";
import type { ExportTask, FileFormat } from "./export-format.ts";
import type { NewFile } from "./new-file.ts";
import { loadStacks } from "./stacks/load-stacks.ts";
import { type Frame, type Stack, VALUES, type ValueName, valuesOf } from "./stacks/stack.ts";

/** Version of the processed format that is written; the profiler upgrades it. */
const PROCESSED_VERSION = 70;
/** Version of the format of Firefox itself, which the profiler wants to be told. */
const GECKO_VERSION = 36;
/** How weights of our units are shown. */
const WEIGHT_TYPES = { bytes: "bytes", count: "samples", nanoseconds: "tracing-ms" } as const;
const NS_PER_MS = 1e6;
/** Categories of frames, by what is known of their source. */
const CATEGORIES = [
  { name: "Other", color: "grey", subcategories: ["Other"] },
  { name: "Python", color: "yellow", subcategories: ["Other"] },
  { name: "Native", color: "blue", subcategories: ["Other"] },
] as const;
const [OTHER, PYTHON, NATIVE] = [0, 1, 2];

function categoryOf({ file, line }: Frame): number {
  return file === "" ? OTHER : line === null ? NATIVE : PYTHON;
}

/** Numbers what is added, each once. */
function numbered<T>(keyOf: (value: T) => string) {
  const all: T[] = [];
  const numbers = new Map<string, number>();
  return {
    all,
    numberOf(value: T): number {
      const key = keyOf(value);
      const found = numbers.get(key) ?? all.push(value) - 1;
      numbers.set(key, found);
      return found;
    },
  };
}

/** Tables that all threads share: strings, functions, frames, and the tree of stacks. */
function sharedTables() {
  const strings = numbered<string>((text) => text);
  const frames = numbered<Frame>((frame) => `${frame.function}\0${frame.file}\0${frame.line}`);
  const functions = numbered<Pick<Frame, "function" | "file">>((one) => `${one.function}\0${one.file}`);
  const sources = numbered<string>((file) => file);
  const nodes = numbered<{ readonly frame: number; readonly parent: number | null }>(
    ({ frame, parent }) => `${frame}/${parent}`,
  );

  function build() {
    const none = <T>(length: number, value: T): T[] => new Array<T>(length).fill(value);
    const func = frames.all.map((frame) => functions.numberOf({ function: frame.function, file: frame.file }));
    const source = functions.all.map(({ file }) => (file === "" ? null : sources.numberOf(file)));
    const names = functions.all.map((one) => strings.numberOf(one.function));
    const filenames = sources.all.map((file) => strings.numberOf(file));
    const [n, m, k] = [frames.all.length, functions.all.length, sources.all.length];
    return {
      stackTable: {
        frame: nodes.all.map(({ frame }) => frame),
        prefixOffset: nodes.all.map(({ parent }, i) => (parent === null ? 0 : i - parent)),
        length: nodes.all.length,
      },
      frameTable: {
        address: none(n, -1),
        lib: none(n, -1),
        inlineDepth: none(n, 0),
        category: frames.all.map(categoryOf),
        subcategory: none(n, 0),
        func,
        nativeSymbol: none(n, null),
        innerWindowID: none(n, 0),
        line: frames.all.map(({ line }) => line),
        column: none(n, null),
        originalLocation: none(n, null),
        length: n,
      },
      funcTable: {
        name: names,
        isJS: none(m, false),
        relevantForJS: none(m, false),
        resource: none(m, -1),
        source,
        lineNumber: none(m, null),
        columnNumber: none(m, null),
        originalLocation: none(m, null),
        length: m,
      },
      resourceTable: { length: 0, name: [], host: [], type: [] },
      nativeSymbols: { libIndex: [], address: [], name: [], functionSize: [], length: 0 },
      sources: {
        length: k,
        id: none(k, null),
        filename: filenames,
        startLine: none(k, 1),
        startColumn: none(k, 1),
        sourceMapURL: none(k, null),
        content: none(k, null),
      },
      sourceLocationTable: { source: [], line: [], column: [], length: 0 },
      stringArray: strings.all,
    };
  }

  return {
    /** The number of the stack of these frames, outermost first; null for none. */
    stackOf(all: readonly Frame[]): number | null {
      let parent: number | null = null;
      for (const frame of all) parent = nodes.numberOf({ frame: frames.numberOf(frame), parent });
      return parent;
    },
    build,
  };
}

/** The sums of one value in one process as a track of samples that lie at its begin: sums have no time. */
function threadOf(pid: number, name: ValueName, samples: readonly { stack: number | null; weight: number }[]) {
  const { length } = samples;
  return {
    processType: "default",
    processStartupTime: 0,
    processShutdownTime: null,
    registerTime: 0,
    unregisterTime: null,
    pausedRanges: [],
    name: VALUES[name].about,
    isMainThread: false,
    processName: `pid ${pid}`,
    pid: String(pid),
    tid: `${pid} ${name}`,
    samples: {
      stack: samples.map(({ stack }) => stack),
      time: new Array<number>(length).fill(0),
      weight: samples.map(({ weight }) => weight),
      weightType: WEIGHT_TYPES[VALUES[name].unit],
      length,
    },
    markers: { data: [], name: [], startTime: [], endTime: [], phase: [], category: [], length: 0 },
  };
}

function metaOf(metadata: RunMetadata) {
  const { timing, model, run_id, hardware, software } = metadata;
  const lasted = (timing.total_wall_duration_s ?? 0) * 1000;
  return {
    interval: 1,
    startTime: timing.started_at_utc === null ? 0 : Date.parse(timing.started_at_utc),
    profilingStartTime: 0,
    profilingEndTime: lasted > 0 ? lasted : 1,
    processType: 0,
    product: `${model.id}, run ${run_id}`,
    importedFrom: `mrm-trace ${software.mrm_trace}`,
    stackwalk: 1,
    version: GECKO_VERSION,
    preprocessedProfileVersion: PROCESSED_VERSION,
    symbolicated: true,
    symbolicationNotSupported: true,
    categories: CATEGORIES,
    markerSchema: [],
    usesOnlyOneStackType: true,
    sourceCodeIsNotOnSearchfox: true,
    ...(hardware.cpu_model === null ? {} : { CPUName: hardware.cpu_model }),
    ...(software.os === null ? {} : { oscpu: software.os }),
    extra: [
      {
        label: "mrm-trace",
        entries: [{ label: "validity", format: "string", value: metadata.validity.class }],
      },
    ],
  };
}

/** The profile of the stacks. */
export function firefoxProfile(stacks: readonly Stack[], metadata: RunMetadata) {
  const tables = sharedTables();
  const pids = [...new Set(stacks.map(({ pid }) => pid))].sort((a, b) => a - b);
  const threads = pids.flatMap((pid) => {
    return valuesOf(stacks).flatMap((name) => {
      const scale = VALUES[name].unit === "nanoseconds" ? NS_PER_MS : 1;
      const samples = stacks.flatMap(({ pid: owner, frames, labels, values }) => {
        const value = values[name] ?? 0;
        if (owner !== pid || value === 0) return [];
        const about = Object.values(labels).map((label) => ({ function: `[${label}]`, file: "", line: null }));
        return [{ stack: tables.stackOf([...frames, ...about]), weight: value / scale }];
      });
      return samples.length === 0 ? [] : [threadOf(pid, name, samples)];
    });
  });
  return { meta: metaOf(metadata), libs: [], pages: [], counters: [], shared: tables.build(), threads };
}

async function write(task: ExportTask, file: NewFile): Promise<void> {
  const stacks = await loadStacks(task);
  task.leaveOut("when it happened: the tracks are sums over the whole run");
  const profile = JSON.stringify(firefoxProfile(stacks, task.run.metadata));
  file.write(Bun.gzipSync(new TextEncoder().encode(profile)));
}

export const firefoxProfiler: FileFormat = { makes: "file", takes: [], ending: () => "profile.json.gz", write };
