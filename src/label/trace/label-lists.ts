/** What a number of a region, a slot of time or an instruction stands for, as codes into short lists of values. */
import { NULL_CODE } from "../../columnar/batch.ts";

/** Values by key: `codes[key]` is a position in `values`, or NULL_CODE. */
export interface LabelList<T> {
  readonly codes: number[];
  readonly values: T[];
  /** Adds the value of the next key. */
  push(value: T | null): void;
}

/** An empty list, in which equal values have one code. */
export function labelList<T>(): LabelList<T> {
  const codes: number[] = [];
  const values: T[] = [];
  const codeOf = new Map<T, number>();
  return {
    codes,
    values,
    push(value) {
      if (value === null) {
        codes.push(NULL_CODE);
        return;
      }
      let code = codeOf.get(value);
      if (code === undefined) {
        code = values.push(value) - 1;
        codeOf.set(value, code);
      }
      codes.push(code);
    },
  };
}
