/** The rows of the step stream that say where an engine was found, and which probes it got. */
import { dirname } from "node:path";
import { listFolder } from "../../kernel/list-folder.ts";
import { nullsOf } from "../../schema/row.ts";
import type { EngineRow } from "../engine.ts";
import type { EngineFile } from "./object-probes.ts";

/** When a process mapped a file, where that is known, and when its probes were asked for and in place. */
export interface AttachTimes {
  readonly mappedNs: bigint | undefined;
  readonly began: bigint;
  readonly ended: bigint;
}

/** One row for the library, one for its probes. */
export function attachSteps(
  file: EngineFile,
  pid: number,
  { mappedNs, began, ended }: AttachTimes,
): EngineRow<"step">[] {
  const { path, build, engine, symbols, attached, refused, attachedNs } = file;
  const { engine: _, ...nothing } = nullsOf("step");
  const row = { ...nothing, pid, tid: pid };
  const packages = () => listFolder(`/proc/${pid}/root${dirname(dirname(path))}`, /\.dist-info$/);
  const about = { path, soname: build.soname, build_id: build.buildId, ...engine.aboutBuild(build, packages) };
  // A file that was probed before this process mapped it has no gap.
  const gap_ns = mappedNs === undefined ? null : Math.max(0, Number(attachedNs - mappedNs));
  const probes = JSON.stringify({ path, probes: attached, refused, symbols, gap_ns });
  return [
    { ...row, timestamp_ns: mappedNs ?? began, end_ns: began, kind: "engine", detail: JSON.stringify(about) },
    { ...row, timestamp_ns: began, end_ns: ended, kind: "probes", result: BigInt(attached), detail: probes },
  ];
}
