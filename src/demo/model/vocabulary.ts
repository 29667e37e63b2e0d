/** A vocabulary that turns any text into its bytes: three control words, 256 byte words, then words never met. */

export const UNKNOWN_TOKEN = 0;
export const BEGIN_TOKEN = 1;
export const END_TOKEN = 2;
/** The word of byte 0; byte n is `FIRST_BYTE_TOKEN + n`. */
export const FIRST_BYTE_TOKEN = 3;

/** Token types of llama.cpp. */
const NORMAL = 1;
const UNKNOWN = 2;
const CONTROL = 3;
const BYTE = 6;

/** Words and their types for a vocabulary of `size` words. @param size at least 259 */
export function vocabulary(size: number): { readonly tokens: readonly string[]; readonly types: Int32Array } {
  const tokens = ["<unk>", "<s>", "</s>"];
  for (let byte = 0; byte < 256; byte += 1) {
    tokens.push(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
  }
  const types = new Int32Array(size).fill(NORMAL);
  types.fill(BYTE, FIRST_BYTE_TOKEN, tokens.length);
  types.set([UNKNOWN, CONTROL, CONTROL]);
  while (tokens.length < size) tokens.push(`\u2581w${tokens.length}`);
  return { tokens, types };
}
