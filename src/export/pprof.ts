/** `pprof`: a profile of allocations, page faults and sampled accesses, gzipped, as `go tool pprof` reads it. */
import {
  Function as Code,
  Label,
  Line,
  Location,
  Mapping,
  Profile,
  Sample,
  StringTable,
  ValueType,
} from "pprof-format";
import type { RunMetadata } from "../schema/run-metadata.ts";
import type { ExportTask, FileFormat } from "./export-format.ts";
import type { NewFile } from "./new-file.ts";
import { loadStacks } from "./stacks/load-stacks.ts";
import { type Frame, type Stack, VALUES, valuesOf } from "./stacks/stack.ts";

const NS_PER_MS = 1_000_000n;

/** `go tool pprof` takes what stands in < > for arguments of a template: of Python's `<module>` it would show nothing. */
function shownName(name: string): string {
  return name.replace(/^<(.+)>$/, "[$1]");
}

/** Numbers the frames of stacks as locations, each once. */
function places(strings: StringTable) {
  const functions: Code[] = [];
  const locations: Location[] = [];
  const ids = new Map<string, number>();
  return {
    functions,
    locations,
    idOf(frame: Frame): number {
      const key = `${frame.function}\0${frame.file}\0${frame.line}`;
      let id = ids.get(key);
      if (id === undefined) {
        id = locations.length + 1;
        ids.set(key, id);
        const [name, systemName] = [shownName(frame.function), frame.function].map((text) => strings.dedup(text));
        functions.push(new Code({ id, name, systemName, filename: strings.dedup(frame.file) }));
        const line = [new Line({ functionId: id, line: frame.line ?? 0 })];
        locations.push(new Location({ id, mappingId: 1, line }));
      }
      return id;
    },
  };
}

/** Begin and length of the run by the wall clock; nothing where nobody knows them. */
function timesOf({ timing }: RunMetadata) {
  const began = timing.started_at_utc === null ? null : Date.parse(timing.started_at_utc);
  const seconds = timing.total_wall_duration_s;
  return {
    ...(began === null || Number.isNaN(began) ? {} : { timeNanos: BigInt(began) * NS_PER_MS }),
    ...(seconds === null ? {} : { durationNanos: BigInt(Math.round(seconds * 1e9)) }),
  };
}

/** The profile of the stacks: a sample has a number for each value that any of them has. */
export function profileOf(stacks: readonly Stack[], metadata: RunMetadata): Profile {
  const names = valuesOf(stacks);
  const strings = new StringTable();
  const { functions, locations, idOf } = places(strings);
  const labelOf = (key: string, value: string) =>
    new Label({ key: strings.dedup(key), str: strings.dedup(value), num: 0 });
  const sample = stacks.map(({ pid, frames, labels, values }) => {
    const pidLabel = new Label({ key: strings.dedup("pid"), num: pid });
    return new Sample({
      locationId: frames.map(idOf).reverse(),
      value: names.map((name) => Math.round(values[name] ?? 0)),
      label: [pidLabel, ...Object.entries(labels).map(([key, value]) => labelOf(key, value))],
    });
  });
  const types = names.map(
    (name) => new ValueType({ type: strings.dedup(name), unit: strings.dedup(VALUES[name].unit) }),
  );
  // Functions are named already: no reader shall look for the objects.
  const mapping = [
    new Mapping({ id: 1, filename: strings.dedup(metadata.model.id), hasFunctions: true, hasFilenames: true }),
  ];
  const comments = [`mrm-trace run ${metadata.run_id}, validity ${metadata.validity.class}`];
  return new Profile({
    sampleType: types,
    sample,
    mapping,
    location: locations,
    function: functions,
    stringTable: strings,
    comment: comments.map((text) => strings.dedup(text)),
    defaultSampleType: strings.dedup(names[0] ?? ""),
    ...timesOf(metadata),
  });
}

async function write(task: ExportTask, file: NewFile): Promise<void> {
  const profile = profileOf(await loadStacks(task), task.run.metadata);
  file.write(Bun.gzipSync(new Uint8Array(profile.encode())));
}

export const pprof: FileFormat = { makes: "file", takes: [], ending: () => "pb.gz", write };
