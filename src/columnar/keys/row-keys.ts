/** Numbers of rows by which several columns are looked up, such as that of the region that a row touched. */

const NONE = 0xffffffff;

/** The numbers of `codes`, of which each is a position in `used`. */
export interface KeyCodes {
  readonly codes: Uint32Array;
  /** The numbers that occur, in order of first appearance. */
  readonly used: Uint32Array;
}

export interface RowKeys {
  readonly rows: number;
  /** Found once, when first asked for. */
  find(): KeyCodes;
}

/**
 * @param keys numbers of the rows `0 .. rows-1`, which must not change while they are used; below 2^32 - 1
 * @param room for the codes, of so many rows or more; it too must stay as it is
 */
export function rowKeys(keys: Uint32Array, rows: number, room: Uint32Array = new Uint32Array(rows)): RowKeys {
  let found: KeyCodes | null = null;
  return {
    rows,
    find() {
      found ??= compact(keys, rows, room);
      return found;
    },
  };
}

function compact(keys: Uint32Array, rows: number, codes: Uint32Array): KeyCodes {
  let most = 0;
  for (let row = 0; row < rows; row++) if ((keys[row] as number) > most) most = keys[row] as number;
  const codeOf = new Uint32Array(most + 1).fill(NONE);
  const used: number[] = [];
  let before = NONE;
  let code = 0;
  for (let row = 0; row < rows; row++) {
    const key = keys[row] as number;
    if (key !== before) {
      before = key;
      code = codeOf[key] as number;
      if (code === NONE) {
        code = used.push(key) - 1;
        codeOf[key] = code;
      }
    }
    codes[row] = code;
  }
  return { codes, used: Uint32Array.from(used) };
}
