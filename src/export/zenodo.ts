/** `zenodo`: a flat folder for a record on Zenodo, with what its forms ask for in zenodo.json. */
import { z } from "zod";
import { toJson } from "../schema/run-json.ts";
import { cardText, summaryOf, titleOf } from "./dataset/card.ts";
import { addRun, datasetFiles } from "./dataset/dataset.ts";
import type { ExportTask, FolderFormat } from "./export-format.ts";
import type { NewFolder } from "./new-folder.ts";

/** What an experiment may say of who made it; other forms say nothing here. */
const aboutSchema = z.looseObject({
  authors: z.array(z.string()).catch([]).default([]),
  institution: z.string().catch("").default(""),
  version: z.string().optional().catch(undefined),
});

/** The object that Zenodo's interface takes for a deposition. */
function deposition({ run, license, leaveOut }: ExportTask) {
  const about = aboutSchema.parse(run.metadata.experiment?.about ?? {});
  const affiliation = about.institution === "" ? {} : { affiliation: about.institution };
  const creators = about.authors.map((name) => ({ name, ...affiliation }));
  if (creators.length === 0) leaveOut("creators: the run names no authors; write them into zenodo.json");
  return {
    metadata: {
      title: titleOf(run),
      upload_type: "dataset",
      description: summaryOf(run),
      creators,
      keywords: ["memory trace", "LLM inference", "managed-retention memory", "mrm-trace"],
      ...(license === undefined ? {} : { license: license.toLowerCase() }),
      ...(about.version === undefined ? {} : { version: about.version }),
    },
  };
}

async function write(task: ExportTask, folder: NewFolder): Promise<void> {
  const files = datasetFiles(folder, task);
  // A record has files and no folders.
  await addRun(files, task, (table, part) => (part === null ? `${table}.parquet` : `${table}-${part}.parquet`));
  await files.addText("README.md", cardText(task.run));
  await files.addText("zenodo.json", `${toJson(deposition(task), 2)}\n`);
  await files.end();
}

export const zenodo: FolderFormat = { makes: "folder", takes: ["license"], ending: () => "zenodo", write };
