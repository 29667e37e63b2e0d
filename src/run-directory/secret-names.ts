/** What the names of options, variables, headers and fields say of their values: a secret, or none. */

/** Last words of the names of secrets, also with others before them and no sign between, as in PGPASSWORD and hftoken. */
const SECRET_END =
  /(?:token|secrets?|password|passwd|passphrase|apikey|api_keys?|accesskey|secretkey|privatekey|credentials?|authorization)$/;
const SECRET_WORDS = new Set([
  "key",
  "keys",
  "pass",
  "pwd",
  "auth",
  "cookie",
  "cookies",
  "bearer",
  "jwt",
  "signature",
  "sig",
]);
/** Names with these words in any place are secrets, unless they end in one of the next. */
const SECRET_ANYWHERE = new Set(["secret", "password", "passwd", "passphrase", "apikey", "credential", "credentials"]);
/** What is about a secret and is none: where it lies, how long it is. */
const ABOUT = new Set(["file", "path", "dir", "folder", "name", "type", "len", "length", "size", "count", "limit"]);
/** What is looked up by its value, and hides nothing. */
const LOOKED_UP = new Set([
  "sha",
  "md",
  "hash",
  "digest",
  "checksum",
  "fingerprint",
  "commit",
  "revision",
  "rev",
  "ref",
  "tag",
  "id",
  "uuid",
]);
const WORKING_FOLDERS = new Set(["pwd", "oldpwd"]);
/** Values of tokens and keys that hide nothing: `--eos-token 2`, `--auth none`, `add_bos_token=bool:false`. */
const NO_SECRET = /^(?:(?:bool|int|float|str):.*|true|false|yes|no|on|off|none|null|auto|-?\d{1,4})?$/i;
const WEAK_END = /(?:token|keys?|auth)$/;

/** `--hf-token`, `X-Api-Key` and `openaiApiKey` as lower-case words with `_` between, without a number behind. */
function wordsOfName(name: string): string[] {
  const split = name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase();
  const words = split.split(/[^a-z0-9]+/).map((word) => word.replace(/\d+$/, ""));
  return words.filter((word) => word !== "");
}

/** True where what has this name may be a secret. */
export function isSecretName(name: string): boolean {
  const words = wordsOfName(name);
  const last = words.at(-1);
  if (last === undefined || ABOUT.has(last) || WORKING_FOLDERS.has(name.toLowerCase())) return false;
  const joined = words.join("_");
  if (SECRET_WORDS.has(last) || SECRET_END.test(joined)) return true;
  return words.some((word) => SECRET_ANYWHERE.has(word)) || /api_key|access_key|private_key/.test(joined);
}

/** True where it is one, as far as names tell. */
export function isSecret(name: string, value: string): boolean {
  if (value === "" || !isSecretName(name)) return false;
  return !(WEAK_END.test(wordsOfName(name).join("_")) && NO_SECRET.test(value));
}

/** True where what has this name is shown, however it looks: `--revision`, `sha256`, `model_name`. */
export function isShownName(name: string): boolean {
  const last = wordsOfName(name).at(-1);
  return last !== undefined && (LOOKED_UP.has(last) || ABOUT.has(last));
}
