/** One column of one row group, read at once and decompressed on other threads. */
import { chunkOfColumn, type FileChunk, type FileColumn, type FileGroup } from "./footer.ts";
import { type Page, storedPages, unpackAside } from "./pages.ts";
import type { ParquetSource } from "./parquet-file.ts";

export interface LoadedColumn {
  readonly column: FileColumn;
  readonly chunk: FileChunk;
  readonly pages: readonly Page[];
}

/**
 * Null where the file has no column of that name.
 * @throws Error where the file has become shorter, or a page cannot be decompressed
 */
export async function loadColumn(source: ParquetSource, group: FileGroup, name: string): Promise<LoadedColumn | null> {
  const found = chunkOfColumn(source.footer, group, name);
  if (found === null) return null;
  const pages = await Promise.all(storedPages(source.bytes(found.chunk), found.chunk).map(unpackAside));
  return { ...found, pages };
}
