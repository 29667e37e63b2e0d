/** THE list of export formats: help, the command line and docs/export.md name what is here. A format is one line. */
import type { FileFormat } from "./export-format.ts";

/** Each is loaded on use: none waits for the libraries of another. */
const LOADERS = {
  arrow: async () => (await import("./arrow.ts")).arrow,
  csv: async () => (await import("./csv.ts")).csv,
  folded: async () => (await import("./folded.ts")).folded,
  pprof: async () => (await import("./pprof.ts")).pprof,
} satisfies Record<string, () => Promise<FileFormat>>;

export type FormatName = keyof typeof LOADERS;
export const FORMAT_NAMES = Object.keys(LOADERS) as [FormatName, ...FormatName[]];

export async function loadFormat(name: FormatName): Promise<FileFormat> {
  return await LOADERS[name]();
}
