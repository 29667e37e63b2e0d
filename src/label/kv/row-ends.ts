/** Why the row of a token left the cache. */
import { KV_ENDS, type KvEndWord } from "../../schema/words.ts";

export interface KvEnd {
  readonly by: KvEndWord;
  /** Whether it could still be found by its prefix; null where nobody says. */
  readonly left_prefix_cache: boolean | null;
}

/** Ends that no prefix cache knows of, by their words. */
export const ROW_ENDS = Object.fromEntries(
  Object.keys(KV_ENDS).map((by) => [by, { by, left_prefix_cache: null }]),
) as unknown as Readonly<Record<KvEndWord, KvEnd>>;

/** Of a row whose block was given out again, of which nothing else is known. */
export function givenOut(left_prefix_cache: boolean | null): KvEnd {
  return { by: "given_out", left_prefix_cache };
}
