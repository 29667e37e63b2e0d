/** THE list of classes with a colour of their own in the style sheet: of data, and kinds of mapping where there is no engine. */
export const COLOURED: ReadonlySet<string> = new Set([
  ...["weight", "kv_cache", "activation", "runtime"],
  ...["anon", "file", "heap", "stack"],
]);
