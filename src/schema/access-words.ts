/** The words of the access stream, in the order of their codes. */

export const OPS = ["load", "store", "load_store", "unknown"] as const;
/** The code of each word of OPS. */
export const OP = { load: 0, store: 1, load_store: 2, unknown: 3 } as const satisfies Record<
  (typeof OPS)[number],
  number
>;

/** Code of a word of the column op_type; what is no such word is unknown. */
export function opOf(word: string): number {
  return Object.hasOwn(OP, word) ? OP[word as keyof typeof OP] : OP.unknown;
}

export const SOURCES = ["pebs", "ibs", "spe", "clock", "watch", "import"] as const;
export const EVIDENCE = ["data_src", "event", "decoded", "none"] as const;
