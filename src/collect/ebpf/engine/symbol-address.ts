/** Where a symbol of an object that a process has mapped lies in its memory, and which object lies at an address. */
import { readElf } from "../../../elf/elf.ts";
import { openFileBytes } from "../../../elf/file-bytes.ts";
import { SEGMENT } from "../../../elf/segments.ts";
import type { AddressOf, ObjectAt } from "../../../engine/engine.ts";
import type { Look } from "../../../kernel/looks.ts";
import { snapshotRows } from "../lifecycle/maps-look.ts";
import { mappedFile } from "./mapped-file.ts";

const PROT_EXEC = 4;

/** Reads the maps of the process at each question. */
export function symbolAddresses(look: Look): AddressOf {
  return (pid, object, symbol) => {
    const rows = snapshotRows(pid, 0, look);
    if (rows === null) return undefined;
    for (const row of rows) {
      const { path, addr, prot, size_bytes, file_offset_bytes } = row;
      if (path === null || file_offset_bytes === null || !((prot ?? 0) & PROT_EXEC) || !object.test(path)) continue;
      const file = mappedFile({ ...row, path });
      using bytes = file === null ? null : openFileBytes(file.openPath);
      if (bytes === null) continue;
      const elf = readElf(bytes);
      const found = elf.ok ? elf.dynamicSymbol(symbol) : undefined;
      if (!elf.ok || found === undefined) continue;
      const offset = Number(file_offset_bytes);
      // The kernel maps whole pages: the mapping may begin in front of its segment.
      const segment = elf.segments.find(
        ({ type, flags, offset: from, fileBytes }) =>
          type === SEGMENT.load && (flags & 1) !== 0 && from + fileBytes > offset && from < offset + Number(size_bytes),
      );
      if (segment !== undefined) return addr + BigInt(offset - segment.offset + found.vaddr - segment.vaddr);
    }
    return null;
  };
}

/** Reads the maps of the process at each question. */
export function mappedObjects(look: Look): ObjectAt {
  return (pid, wanted) => {
    for (const { path, addr, prot, size_bytes } of snapshotRows(pid, 0, look) ?? []) {
      if (!((prot ?? 0) & PROT_EXEC) || wanted < addr || wanted >= addr + size_bytes) continue;
      return path;
    }
    return null;
  };
}
