/** `hf`: a folder for a repository of data sets on Hugging Face, whose card names each table as a configuration. */
import { stringify } from "yaml";
import { cardText, titleOf } from "./dataset/card.ts";
import { addRun, datasetFiles, publishedTables } from "./dataset/dataset.ts";
import type { ExportTask, FolderFormat } from "./export-format.ts";
import type { NewFolder } from "./new-folder.ts";
import type { RunSource } from "./run-source.ts";

/** Sizes by which data sets are sorted there, with the least rows of each. */
const SIZES = [
  [1e9, "1B<n<10B"],
  [1e8, "100M<n<1B"],
  [1e7, "10M<n<100M"],
  [1e6, "1M<n<10M"],
  [1e5, "100K<n<1M"],
  [1e4, "10K<n<100K"],
  [1e3, "1K<n<10K"],
  [0, "n<1K"],
] as const;

/** What stands before the card, as YAML. */
function frontMatter(run: RunSource, license: string | undefined): string {
  // A table without rows cannot be loaded as one.
  const tables = publishedTables(run).filter((name) => run.countRows(name) > 0);
  const rows = tables.reduce((sum, name) => sum + run.countRows(name), 0);
  return stringify({
    pretty_name: titleOf(run),
    ...(license === undefined ? {} : { license: license.toLowerCase() }),
    tags: ["memory-trace", "llm-inference", "mrm-trace"],
    size_categories: [SIZES.find(([least]) => rows >= least)?.[1] ?? "n<1K"],
    configs: tables.map((name) => ({
      config_name: name,
      data_files: `data/${name}/*.parquet`,
      ...(name === "metrics" ? { default: true } : {}),
    })),
  });
}

async function write(task: ExportTask, folder: NewFolder): Promise<void> {
  const files = datasetFiles(folder, task);
  await addRun(files, task, (table, part) => `data/${table}/${part ?? "00000"}.parquet`);
  await files.addText("README.md", `---\n${frontMatter(task.run, task.license)}---\n\n${cardText(task.run)}`);
  await files.end();
}

export const hf: FolderFormat = { makes: "folder", takes: ["license"], ending: () => "hf", write };
