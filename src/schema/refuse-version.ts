/** The one answer to a file of another major version, whoever reads it. */
import { MrmTraceError } from "../errors.ts";
import { PARQUET_SCHEMA_VERSION } from "./versions.ts";

const majorOf = (version: string): string => version.split(".", 1)[0] ?? "";

/** @throws MrmTraceError data_quality where the major version of a file is another than the one that we read */
export function refuseOtherMajor(path: string, version: string, ours: string = PARQUET_SCHEMA_VERSION): void {
  if (majorOf(version) === majorOf(ours)) return;
  throw new MrmTraceError(
    "data_quality",
    `${path} has schema version ${version}; this mrm-trace reads ${ours}`,
    "read it with the version of mrm-trace that wrote it, which software.mrm_trace of the run's metadata.json names",
  );
}
