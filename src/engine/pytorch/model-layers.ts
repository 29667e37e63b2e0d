/** How many layers a model has, by the numbers in the names of its parameters: `model.layers.3.` beside `model.embed_tokens.weight`. */

/** That number, or why it is not known. */
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
