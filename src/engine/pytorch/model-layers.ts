/** Layers of a model, by the numbers in the names of its parameters: `model.layers.3.` beside `model.embed_tokens.weight`. */

/** How many it has, or why it is not known. */
export type ModelLayers = number | { readonly untold: string };

const NUMBER = /^\d{1,6}$/;

/** The list of modules that a parameter is in, and its number there: the outermost; null for none. */
function listOf(name: string): { readonly list: string; readonly number: number } | null {
  const parts = name.split(".");
  const i = parts.findIndex((part) => NUMBER.test(part));
  return i < 0 ? null : { list: parts.slice(0, i).join("."), number: Number(parts[i]) };
}

/**
 * Of the longest list of modules in the innermost module that has both the table and such a list, as several models may be in one.
 * @param names of all parameters
 * @param table name of the one that tokens are looked up in
 * @returns null where there is none
 */
export function layersOfModel(names: readonly string[], table: string): number | null {
  for (let end = table.lastIndexOf("."); ; end = table.lastIndexOf(".", end - 1)) {
    const inside = table.slice(0, end + 1);
    const ofTable = listOf(table.slice(inside.length))?.list;
    let layers = 0;
    for (const name of names) {
      const found = name.startsWith(inside) ? listOf(name.slice(inside.length)) : null;
      if (found !== null && found.list !== ofTable) layers = Math.max(layers, found.number + 1);
    }
    if (layers > 0) return layers;
    if (end <= 0) return null;
  }
}

/**
 * Which layers parameters are of: their numbers in one list of modules, which is in the innermost module that has both the table and
 * such a list.
 * @param table name of the one that tokens are looked up in
 * @returns null where they are not all in one list
 */
export function layerNumbers(names: readonly string[], table: string): readonly number[] | null {
  for (let end = table.lastIndexOf("."); ; end = table.lastIndexOf(".", end - 1)) {
    const inside = table.slice(0, end + 1);
    const ofTable = listOf(table.slice(inside.length))?.list;
    const found = names.flatMap((name) => (name.startsWith(inside) ? (listOf(name.slice(inside.length)) ?? []) : []));
    const list = found[0]?.list;
    const isOne = found.length === names.length && list !== ofTable && found.every((one) => one.list === list);
    // A number that a name begins with is of a model among others.
    if (isOne && inside + list !== "") return found.map(({ number }) => number);
    if (end <= 0) return null;
  }
}
