/** What is kept of a command line: all of it, all but what looks like a secret, or nothing. */
import type { CommandRecording } from "../config/schema.ts";

/** What stands in place of a secret; its length tells nothing. */
const MASK = "***";

/** Last words of the names of secrets, also with others before them and no sign between, as in PGPASSWORD and hftoken. */
const SECRET_END =
  /(?:token|secrets?|password|passwd|passphrase|apikey|api_keys?|accesskey|secretkey|privatekey|credentials?|authorization)$/;
const SECRET_WORDS = new Set(["key", "keys", "pass", "pwd", "auth", "cookie", "cookies", "bearer", "jwt", "signature"]);
/** Names with these words in any place are secrets, unless they end in one of the next. */
const SECRET_ANYWHERE = new Set(["secret", "password", "passwd", "passphrase", "apikey", "credential", "credentials"]);
/** What is about a secret and is none: where it lies, how long it is. */
const ABOUT = new Set(["file", "path", "dir", "folder", "name", "type", "len", "length", "size", "count", "limit"]);
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
function isSecretName(name: string): boolean {
  const words = wordsOfName(name);
  const last = words.at(-1);
  if (last === undefined || ABOUT.has(last) || WORKING_FOLDERS.has(name.toLowerCase())) return false;
  const joined = words.join("_");
  if (SECRET_WORDS.has(last) || SECRET_END.test(joined)) return true;
  return words.some((word) => SECRET_ANYWHERE.has(word)) || /api_key|access_key|private_key/.test(joined);
}

/** True where it is one, as far as names tell. */
function isSecret(name: string, value: string): boolean {
  if (value === "" || !isSecretName(name)) return false;
  return !(WEAK_END.test(wordsOfName(name).join("_")) && NO_SECRET.test(value));
}

/**
 * Secrets that are known by their own form. Repetitions have an end here and below: an argument may have 128 KiB, and what
 * begins like a secret at every letter of it would else be read to its end as often.
 */
const FORMS: readonly RegExp[] = [
  // Tokens with the prefix of who gives them out; a short one of small letters alone is a name, such as hf_transfer.
  /\b(?:hf|gh[opusr]|github_pat|glpat|gsk|xai|shpat|dop_v1|npm|pypi)[-_](?=[A-Za-z]{0,99}[A-Z0-9]|[A-Za-z0-9]{12})[A-Za-z0-9]{6,}(?:_[A-Za-z0-9]{16,})?/g,
  /\b(?:sk|pk|rk|nvapi|whsec|xox[abeoprs])[-_](?=[A-Za-z_-]{0,99}[A-Z0-9]|[A-Za-z0-9_-]{12})[A-Za-z0-9_-]{6,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{20,}/g,
  /\beyJ[A-Za-z0-9_-]{8,999}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?/g,
  /-----BEGIN [A-Z ]{0,99}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,99}-----|$)/g,
  /(?<=\bbearer\s)[^\s"']{4,}/gi,
];

/** `user:password@` and `token@` of a URL; a user alone, as in ssh://git@host, stays. */
const URL_USER = /\b([a-z][a-z0-9+.-]{0,30}:\/\/)([^\s/?#"']{1,999})@/gi;
/** The beginning of `NAME=value`, `Name: value`, `"name": "value"` and `?name=value&`. */
const NAMED = /(?<![\w.]|[\w.]-)([A-Za-z][\w.-]{0,199})["'\])]{0,3}\s{0,3}(?:=|:(?!\/\/))\s{0,3}/g;
/** A value behind it, with a scheme before as in `Basic dXNlcg==`. */
const VALUE = /"[^"]*"|'[^']*'|(?:(?:bearer|basic|digest|token|negotiate)\s)?[^\s"'&;,)}\]]+/iy;
/** `--name value` inside one word, as in `sh -c "..."`. */
const SPACED = /(?<![^\s])(--?[A-Za-z][\w-]*)(\s{1,3})("[^"]*"|'[^']*'|[^\s-]\S*)/g;

function maskUser(_: string, scheme: string, user: string): string {
  const colon = user.indexOf(":");
  if (colon >= 0) return `${scheme}${user.slice(0, colon)}:${MASK}@`;
  return `${scheme}${user.length > 12 ? MASK : user}@`;
}

/** Masks what stands behind names of secrets; in the values of other names there may be more of them. */
function maskNamed(text: string): string {
  let out = "";
  let from = 0;
  for (const found of text.matchAll(NAMED)) {
    VALUE.lastIndex = found.index + found[0].length;
    // Within a value that is masked already.
    if (found.index < from || !isSecretName(found[1] ?? "")) continue;
    const value = VALUE.exec(text)?.[0];
    if (value === undefined || !isSecret(found[1] ?? "", value)) continue;
    const begin = found.index + found[0].length;
    out += text.slice(from, begin) + MASK;
    from = begin + value.length;
  }
  return out + text.slice(from);
}

/** A text without what looks like a secret in it. */
export function maskText(text: string): string {
  const named = maskNamed(text.replace(URL_USER, maskUser)).replace(
    SPACED,
    (all: string, option: string, gap: string, value: string) =>
      isSecret(option, value) ? `${option}${gap}${MASK}` : all,
  );
  return FORMS.reduce((masked, form) => masked.replace(form, MASK), named);
}

const OPTION = /^--?[A-Za-z][\w.-]*$/;
const ASSIGNED = /^(-{0,2}[A-Za-z][\w.-]*)=([\s\S]*)$/;
/** Options whose value is `user:password`, as of curl. */
const USER_OPTION = /^(?:-u|--user|--proxy-user)$/;

/** A header whose value is the next word: a command line that was put together with spaces lost the quotes around both. */
const HEADER = /^[{[("',]*[A-Za-z][\w.-]*["']?:$/;
const SCHEME = /^(?:bearer|basic|digest|token|negotiate)$/i;

/** A word, given those before it. */
function maskWord(word: string, [before, beforeThat]: readonly (string | undefined)[]): string {
  const header = SCHEME.test(before ?? "") ? beforeThat : before;
  if (header !== undefined && HEADER.test(header) && !SCHEME.test(word) && isSecret(header, word)) return MASK;
  if (/^bearer$/i.test(before ?? "")) return MASK;
  if (before !== undefined && OPTION.test(before)) {
    const isOption = /^(?:--[A-Za-z]|-[A-Za-z]$)/.test(word);
    if (!isOption && isSecret(before, word)) return MASK;
    const user = USER_OPTION.test(before) ? /^([^:]*):(?!\d+$)./s.exec(word) : null;
    if (user !== null) return `${user[1]}:${MASK}`;
  }
  const assigned = ASSIGNED.exec(word);
  if (assigned !== null && isSecret(assigned[1] ?? "", assigned[2] ?? "")) return `${assigned[1]}=${MASK}`;
  return maskText(word);
}

/** The words of a command line as they are kept. */
export function recordedCommand(words: readonly string[], how: CommandRecording): string[] {
  if (how === "none") return [];
  return how === "full" ? [...words] : words.map((word, i) => maskWord(word, [words[i - 1], words[i - 2]]));
}

/** The same of a command line in one text, in which the words' borders are lost. */
export function recordedCommandText(text: string, how: CommandRecording): string {
  if (how === "full" || text === "") return how === "none" ? "" : text;
  return recordedCommand(maskText(text).split(" "), how).join(" ");
}
