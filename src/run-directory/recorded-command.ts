/** What is kept of a command line: all of it, all but what looks like a secret, or nothing. */
import type { CommandRecording } from "../config/schema.ts";
import { maskRandom } from "./random-words.ts";
import { isSecret, isSecretName, isShownName } from "./secret-names.ts";

/** What stands in place of a secret; its length tells nothing. */
const MASK = "***";

/**
 * Secrets that are known by their own form. Repetitions have an end here and below: an argument may have 128 KiB, and what
 * begins like a secret at every letter of it would else be read to its end as often.
 */
const FORMS: readonly RegExp[] = [
  // Tokens with the prefix of who gives them out; a short one of small letters alone is a name, such as hf_transfer.
  /\b(?:hf|gh[opusr]|github_pat|glpat|glrt|gsk|xai|shpat|dop_v1|npm|pypi|r8|fw|pplx|pcsk|csk|tgp_v1)[-_](?=[A-Za-z]{0,99}[A-Z0-9]|[A-Za-z0-9]{12})[A-Za-z0-9]{6,}(?:_[A-Za-z0-9]{16,})?/g,
  /\b(?:sk|pk|rk|nvapi|whsec|xox[abeoprs])[-_](?=[A-Za-z_-]{0,99}[A-Z0-9]|[A-Za-z0-9_-]{12})[A-Za-z0-9_-]{6,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{20,}/g,
  /\bya29\.[A-Za-z0-9_-]{16,}/g,
  /\bdapi[0-9a-f]{32}\b/g,
  /\bSG\.[A-Za-z0-9_-]{16,999}\.[A-Za-z0-9_-]{16,}/g,
  // Addresses that are a secret as a whole: of webhooks, and of Telegram's bots.
  /(?<=\bhooks\.slack\.com\/(?:services|workflows|triggers)\/)[\w/-]+/g,
  /(?<=\bdiscord(?:app)?\.com\/api\/webhooks\/\d{1,30}\/)[\w-]+/g,
  /(?<=\b(?:bot)?\d{8,10}:)[A-Za-z0-9_-]{35}\b/g,
  /\beyJ[A-Za-z0-9_-]{8,999}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?/g,
  /-----BEGIN [A-Z ]{0,99}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,99}-----|$)/g,
  /(?<=\bbearer\s)[^\s"']{4,}/gi,
];

/** `user:password@` and `token@` of a URL; a user alone, as in ssh://git@host, stays. */
const URL_USER = /\b([a-z][a-z0-9+.-]{0,30}:\/\/)([^\s/?#"']{1,999})@/gi;
/** `user:password@host` without a scheme; an image by its digest is none. */
const BARE_USER = /(?<![\w/.:@+-])([\w.+-]{1,99}):([^\s/@:"']{3,99})@(?=[\w[])(?!sha\d)/g;
/** The beginning of `NAME=value`, `Name: value`, `"name": "value"` and `?name=value&`. */
const NAMED = /(?<![\w.]|[\w.]-)([A-Za-z][\w.-]{0,199})["'\])]{0,3}\s{0,3}(?:=|:(?!\/\/))\s{0,3}/g;
/** A value behind it, with a scheme before as in `Basic dXNlcg==`. */
const VALUE = /"[^"]*"|'[^']*'|(?:(?:bearer|basic|digest|token|negotiate)\s)?[^\s"'&;,)}\]]+/iy;
/** Of cookies all of them, one after another. */
const COOKIES = /[^\s"';]+(?:;\s?[\w.-]{1,99}=[^\s"';]*)*/y;
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
    const name = found[1] ?? "";
    // Within a value that is masked already.
    if (found.index < from || !isSecretName(name)) continue;
    const begin = found.index + found[0].length;
    const pattern = /cookies?$/i.test(name) ? COOKIES : VALUE;
    pattern.lastIndex = begin;
    const value = pattern.exec(text)?.[0];
    if (value === undefined || !isSecret(name, value)) continue;
    out += text.slice(from, begin) + MASK;
    from = begin + value.length;
  }
  return out + text.slice(from);
}

/** A text without what its names, or its own form, say to be a secret. */
function maskKnown(text: string): string {
  const users = text.replace(URL_USER, maskUser).replace(BARE_USER, `$1:${MASK}@`);
  const named = maskNamed(users).replace(SPACED, (all: string, option: string, gap: string, value: string) =>
    isSecret(option, value) ? `${option}${gap}${MASK}` : all,
  );
  return FORMS.reduce((masked, form) => masked.replace(form, MASK), named);
}

/** A text without what looks like a secret in it. */
export function maskText(text: string): string {
  return maskRandom(maskKnown(text), MASK);
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
  return before !== undefined && OPTION.test(before) && isShownName(before) ? maskKnown(word) : maskText(word);
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
