/** The formats that `import` reads, told apart by how a file begins; the first that matches reads it. */
import type { Importer } from "./importer.ts";
import { memrayImporter } from "./memray/import-capture.ts";
import { perfDataImporter } from "./perf-mem/import-data.ts";
import { perfScriptImporter } from "./perf-mem/script/import-text.ts";

export const IMPORTERS: readonly Importer[] = [perfDataImporter, memrayImporter, perfScriptImporter];
