/** What an export format is: what it makes of a run, and what it is given to do so. */
import type { RunTable } from "../run-directory/table-files.ts";
import type { NewFile } from "./new-file.ts";
import type { NewFolder } from "./new-folder.ts";
import type { RunSource } from "./run-source.ts";
import type { ValueName } from "./stacks/stack.ts";

export interface ExportTask {
  readonly run: RunSource;
  /** The one table that is exported, by formats that hold one. */
  readonly table: RunTable;
  /** The one value of stacks that is exported, by formats that hold one; undefined for the first that the run has. */
  readonly value: ValueName | undefined;
  /** The licence under which the run is published, by its SPDX name; undefined where none was given. */
  readonly license: string | undefined;
  /** What ends the work. */
  readonly signal: AbortSignal;
  /** Says what of the run the format does not carry. */
  readonly leaveOut: (what: string) => void;
  /**
   * To be awaited between pieces of work, so that a signal can end it.
   * @param rows done so far
   * @param share of the work, 0 to 1; null where the end is not known
   * @throws what the signal carries
   */
  readonly goOn: (rows: number, share: number | null) => Promise<void>;
}

/** Options that only some formats take. */
export type FormatOption = "table" | "value" | "license";

interface Format {
  readonly takes: readonly FormatOption[];
  /** Behind the name of the run, in the name of an export that nobody named. */
  ending(task: Pick<ExportTask, "table">): string;
}

export interface FileFormat extends Format {
  readonly makes: "file";
  /** @throws MrmTraceError, where the run has nothing that the format could hold */
  write(task: ExportTask, file: NewFile): Promise<void>;
}

export interface FolderFormat extends Format {
  readonly makes: "folder";
  /** @throws MrmTraceError, where the run cannot be read */
  write(task: ExportTask, folder: NewFolder): Promise<void>;
}

export type ExportFormat = FileFormat | FolderFormat;
