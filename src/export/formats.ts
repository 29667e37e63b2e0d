/** THE list of export formats: help, the command line and docs/export.md name what is here. A format is one line. */
import type { ExportFormat } from "./export-format.ts";

/** Each is loaded on use: none waits for the libraries of another. */
const LOADERS = {
  arrow: async () => (await import("./arrow.ts")).arrow,
  csv: async () => (await import("./csv.ts")).csv,
  folded: async () => (await import("./folded.ts")).folded,
  perfetto: async () => (await import("./perfetto.ts")).perfetto,
  pprof: async () => (await import("./pprof.ts")).pprof,
  "firefox-profiler": async () => (await import("./firefox-profiler.ts")).firefoxProfiler,
  "otlp-json": async () => (await import("./otlp-json.ts")).otlpJson,
  hf: async () => (await import("./hf.ts")).hf,
  zenodo: async () => (await import("./zenodo.ts")).zenodo,
} satisfies Record<string, () => Promise<ExportFormat>>;

export type FormatName = keyof typeof LOADERS;
export const FORMAT_NAMES = Object.keys(LOADERS) as [FormatName, ...FormatName[]];

export async function loadFormat(name: FormatName): Promise<ExportFormat> {
  return await LOADERS[name]();
}
