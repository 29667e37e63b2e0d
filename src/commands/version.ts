/** What `--version` says: of the program, its build, its schemas and its BPF objects. */
import packageJson from "../../package.json" with { type: "json" };
import { buildName } from "../build.ts";
import { bpfObjectHashes } from "../kernel/bpf-object-files.ts";
import { toJson } from "../schema/run-json.ts";
import { JSON_SCHEMA_VERSION, PARQUET_SCHEMA_VERSION } from "../schema/versions.ts";

/** The first line is `mrm-trace X.Y.Z`; with `json` one object. Hashes are SHA-256 of the files as they are now. */
export function versionText({ json }: { readonly json: boolean }): string {
  const facts = {
    schema_version: JSON_SCHEMA_VERSION,
    version: packageJson.version,
    build: buildName(),
    bun: Bun.version,
    schemas: { parquet: PARQUET_SCHEMA_VERSION, json: JSON_SCHEMA_VERSION },
    bpf_objects: bpfObjectHashes(),
  };
  if (json) return `${toJson(facts)}\n`;
  const hashes = Object.entries(facts.bpf_objects);
  return [
    `mrm-trace ${facts.version}`,
    `build ${facts.build}, bun ${facts.bun}`,
    `schemas: parquet ${facts.schemas.parquet}, json ${facts.schemas.json}`,
    ...(hashes.length === 0 ? ["BPF objects: none are built"] : ["BPF objects, SHA-256:"]),
    ...hashes.map(([name, hash]) => `  ${hash}  ${name}`),
    "",
  ].join("\n");
}
