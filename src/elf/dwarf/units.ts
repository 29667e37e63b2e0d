/** The units of .debug_info, each of which tells of one source file: where they lie, by their headers alone (DWARF 5, 7.5.1). */
import type { ByteView } from "../byte-view.ts";

export interface Unit {
  /** Where it begins, and its bytes with its header. */
  readonly start: number;
  readonly bytes: number;
  /** Of its first entry, from its begin. */
  readonly first: number;
  /** Bytes of an offset into a section, and of an address. */
  readonly offsetBytes: 4 | 8;
  readonly addressBytes: number;
  /** Of its abbreviations in .debug_abbrev. */
  readonly abbreviationsAt: number;
}

export interface FoundUnits {
  readonly units: readonly Unit[];
  /** Units that are left out: of versions that are not known, and those whose entries lie in another file. */
  readonly otherVersions: number;
  readonly elsewhere: number;
  /** False where there are more, or where the last one is cut short. */
  readonly complete: boolean;
}

/** Debugging data of the largest programs has some 10,000. */
const MOST_UNITS = 1 << 17;
const LONG_FORM = 0xffffffff;
/** Bytes of a header behind what all have, by the type of a unit: one of a type has a signature and a place. */
const SIGNATURE_BYTES = 8;
const TYPE = { compile: 1, type: 2, partial: 3, skeleton: 4 } as const;

export function unitsIn(info: ByteView): FoundUnits {
  const units: Unit[] = [];
  let [otherVersions, elsewhere] = [0, 0];
  let start = 0;
  while (start < info.length && units.length + otherVersions + elsewhere < MOST_UNITS) {
    const isLong = info.u32(start) === LONG_FORM;
    const offsetBytes = isLong ? 8 : 4;
    const head = start + (isLong ? 12 : 4);
    const length = isLong ? info.u64(start + 4) : info.u32(start);
    const version = info.u16(head);
    if (length === null || version === null || length < 2) break;
    const bytes = head - start + length;
    if (start + bytes > info.length) break;
    const offsetAt = (place: number) => (isLong ? info.u64(place) : info.u32(place)) ?? 0;
    const unit = { start, bytes, offsetBytes } as const;
    if (version === 4) {
      const first = head - start + 2 + offsetBytes + 1;
      const addressBytes = info.u8(head + 2 + offsetBytes) ?? 0;
      units.push({ ...unit, first, addressBytes, abbreviationsAt: offsetAt(head + 2) });
    } else if (version === 5) {
      const type = info.u8(head + 2) ?? 0;
      const more = type === TYPE.type ? SIGNATURE_BYTES + offsetBytes : 0;
      const first = head - start + 4 + offsetBytes + more;
      if (type >= TYPE.skeleton) elsewhere += 1;
      else units.push({ ...unit, first, addressBytes: info.u8(head + 3) ?? 0, abbreviationsAt: offsetAt(head + 4) });
    } else otherVersions += 1;
    start += bytes;
  }
  return { units, otherVersions, elsewhere, complete: start >= info.length };
}
