/** Finds the bytes of code at an instruction address of a running process, in the file that is mapped there. */
import { readFileSync } from "node:fs";
import { type ElfFile, readElf } from "../elf/elf.ts";
import { type ByteSource, openFileBytes } from "../elf/file-bytes.ts";
import { type Look, UNCOUNTED } from "../kernel/looks.ts";

export interface CodeObject {
  /** Device and inode, which name the file whatever its path. */
  readonly key: string;
  readonly bytes: ByteSource;
  readonly elf: ElfFile;
}

export interface CodeLocation {
  readonly object: CodeObject;
  /** Virtual address in the object's own numbering. */
  readonly vaddr: number;
}

export interface CodeMap extends Disposable {
  /** Reads the executable mappings of `pid` now, so that they are known should it end. */
  learn(pid: number): void;
  /** Where `ip` lies; null for code that no file holds (JIT, vdso) or that is gone. */
  locate(pid: number, ip: number): CodeLocation | null;
  /** A process that was forked has its parent's code until it makes other. */
  inherit(child: number, parent: number): void;
  /** Reads the mappings of a process again before they are asked next, if it is still there. */
  renew(pid: number): void;
  /** Drops what is known of a process that began another program, or ended. */
  forget(pid: number): void;
}

interface Mapping {
  readonly start: number;
  readonly end: number;
  readonly fileOffset: number;
  /** Null where no file is mapped or it is no ELF file of this machine. */
  readonly object: CodeObject | null;
}

const X86_64 = 62;
/** Files of code that are known: a process may map 65,000, each of which that stays open takes a descriptor. */
const MOST_FILES = 4096;
/** A process whose code is not found is read again at most this often. */
const RELEARN_NS = 100e6;
const LINE = /^([0-9a-f]{1,16})-([0-9a-f]{1,16}) ..x. ([0-9a-f]{1,16}) ([0-9a-f:]+) (\d+) /;

/** `nowNs` is a clock for the re-reading of unknown code only; `look` counts what is read of the process. */
export function createCodeMap(nowNs: () => number, look: Look = UNCOUNTED): CodeMap {
  const objects = new Map<string, CodeObject | null>();
  const processes = new Map<number, { mappings: Mapping[]; readAtNs: number }>();
  const changed = new Set<number>();
  const files = new DisposableStack();

  function openObject(pid: number, key: string, range: string): CodeObject | null {
    // The kernel's link to the mapped file itself: right after a rename, an upgrade or in another mount namespace.
    const bytes = openFileBytes(`/proc/${pid}/map_files/${range}`);
    if (bytes === null) return null;
    const elf = readElf(bytes);
    if (elf.ok && elf.machine === X86_64) return { key, bytes: files.use(bytes), elf };
    bytes[Symbol.dispose]();
    return null;
  }

  function learn(pid: number): void {
    let text: string;
    try {
      text = look(() => readFileSync(`/proc/${pid}/maps`, "latin1"));
    } catch {
      return; // It has ended: what was learnt before still answers.
    }
    const mappings: Mapping[] = [];
    for (const line of text.split("\n")) {
      const [, low, high, offset, device, inode] = LINE.exec(line) ?? [];
      if (low === undefined || high === undefined) continue;
      const key = `${device}:${inode}`;
      // The names below map_files have no leading zeros, which low addresses have in maps.
      const range = `${low.replace(/^0+/, "")}-${high.replace(/^0+/, "")}`;
      const isNew = inode !== "0" && objects.size < MOST_FILES && !objects.has(key);
      if (isNew) objects.set(key, openObject(pid, key, range));
      mappings.push({
        start: Number.parseInt(low, 16),
        end: Number.parseInt(high, 16),
        fileOffset: Number.parseInt(offset ?? "", 16),
        object: objects.get(key) ?? null,
      });
    }
    if (mappings.length > 0) processes.set(pid, { mappings, readAtNs: nowNs() });
  }
  function find(pid: number, ip: number): Mapping | undefined {
    return processes.get(pid)?.mappings.find((m) => ip >= m.start && ip < m.end);
  }
  return {
    learn,
    inherit(child, parent) {
      const parentCode = processes.get(parent);
      if (parentCode !== undefined) processes.set(child, parentCode);
    },
    renew(pid) {
      changed.add(pid);
    },
    forget(pid) {
      processes.delete(pid);
      changed.delete(pid);
    },
    locate(pid, ip) {
      if (changed.delete(pid)) learn(pid);
      let mapping = find(pid, ip);
      if (!mapping && nowNs() - (processes.get(pid)?.readAtNs ?? Number.NEGATIVE_INFINITY) > RELEARN_NS) {
        learn(pid);
        mapping = find(pid, ip);
      }
      if (!mapping?.object) return null;
      const vaddr = mapping.object.elf.vaddr(ip - mapping.start + mapping.fileOffset);
      return vaddr === null ? null : { object: mapping.object, vaddr };
    },
    [Symbol.dispose]() {
      objects.clear();
      processes.clear();
      files.dispose();
    },
  };
}
