/**
 * One line of `perf script`. Its columns have an order and no places, and names hold spaces, colons and digits: the time
 * is the anchor, then the event's name, then what stands before and after the decoded data source.
 */

export interface ScriptSample {
  readonly pid: number;
  readonly tid: number;
  readonly cpu: number | null;
  readonly time_ns: bigint;
  readonly period: bigint | null;
  readonly event: string;
  readonly address: bigint | null;
  readonly data_src: bigint | null;
  readonly weight: number | null;
  readonly ip: bigint | null;
}

const TIME = /(\d{1,12})\.(\d{1,9}):(?:\s+|$)/;
const WHO = /(?:^|\s)(-?\d{1,10})(?:\/(-?\d{1,10}))?(?:\s+\[(\d{1,5})\])?\s*$/;
const EVENT = /^(?:(\d{1,20})\s+)?(\S.*?):(?:\s|$)/;
const HEX = /^(?:0x)?([0-9a-f]{1,16})$/;
const BARE_ADDRESS = /^(?:0x)?[0-9a-f]{1,16}$/;

function hex(token: string | undefined): bigint | null {
  const digits = token === undefined ? undefined : HEX.exec(token)?.[1];
  return digits === undefined ? null : BigInt(`0x${digits}`);
}

const words = (text: string): string[] => text.split(/\s+/).filter((word) => word !== "");

/** Address and data source in one word, where both fill their 16 columns. */
function unglued(tokens: readonly string[]): string[] {
  return tokens.flatMap((token) =>
    /^[0-9a-f]{17,32}$/.test(token) ? [token.slice(0, -16), token.slice(-16)] : [token],
  );
}

/** What stands before the first bar: `addr ... data_src`, and in old versions the words of the level behind them. */
function beforeBar(text: string, isOld: boolean): { address: bigint | null; data_src: bigint | null } {
  const tokens = unglued(words(text));
  let end = tokens.length;
  if (isOld) {
    const level = tokens.findIndex((token) => hex(token) === null);
    if (level >= 0) end = level;
  }
  const data_src = hex(tokens[end - 1]);
  return { address: end >= 2 ? hex(tokens[0]) : null, data_src };
}

/** What stands behind the last bar: the last key's words, numbers (weight first), the instruction, its symbol and file. */
function behindBar(text: string): { weight: number | null; ip: bigint | null } {
  const tokens = words(text);
  const first = tokens.findIndex((token) => /^[0-9a-f]+$/.test(token) && /\d/.test(token));
  if (first < 0) return { weight: null, ip: null };
  let end = first;
  while (end < tokens.length && HEX.test(tokens[end] ?? "")) end += 1;
  const numbers = tokens.slice(first, end);
  const last = numbers.at(-1) ?? "";
  const named = end < tokens.length;
  const endsInCode = named || (numbers.length > 1 && (/[a-f]/.test(last) || last.length > 5));
  const ip = endsInCode ? hex(last) : null;
  const weights = endsInCode ? numbers.slice(0, -1) : numbers;
  const weight = weights[0] !== undefined && /^\d{1,10}$/.test(weights[0]) ? Number(weights[0]) : null;
  return { weight, ip };
}

/**
 * Without a data source: the address, and the instruction before its symbol and file. One number before a symbol is the
 * instruction, as in text that was printed without addresses; one number alone is the address.
 */
function plainTail(text: string): { address: bigint | null; ip: bigint | null } {
  const tokens = words(text);
  const first = hex(tokens[0]);
  if (first === null) return { address: null, ip: null };
  const second = hex(tokens[1]);
  // A short word of hex digits, such as add, is a symbol.
  if (second !== null && second > 0xffffn) return { address: first, ip: second };
  return tokens.length === 1 ? { address: first, ip: null } : { address: null, ip: first };
}

/** The sample of a line; null for a line that is none. */
export function parseScriptLine(line: string): ScriptSample | null {
  const time = TIME.exec(line);
  if (time === null) return null;
  const who = WHO.exec(line.slice(0, time.index));
  if (who === null) return null;
  const pid = Number(who[1]);
  const base = {
    pid,
    tid: who[2] === undefined ? pid : Number(who[2]),
    cpu: who[3] === undefined ? null : Number(who[3]),
    time_ns: BigInt(time[1] ?? "0") * 1_000_000_000n + BigInt((time[2] ?? "").padEnd(9, "0")),
  };
  const none = { period: null, event: "", address: null, data_src: null, weight: null, ip: null };
  const rest = line.slice(time.index + time[0].length).trim();
  if (BARE_ADDRESS.test(rest)) return { ...base, ...none, address: hex(rest) };
  const head = EVENT.exec(rest);
  if (head === null) return null;
  const tail = rest.slice(head[0].length);
  const named = { ...base, ...none, event: head[2] ?? "", period: head[1] === undefined ? null : BigInt(head[1]) };
  const bar = tail.indexOf("|");
  if (bar < 0) return { ...named, ...plainTail(tail) };
  const before = beforeBar(tail.slice(0, bar), !/^\|(?:OP|LVL) /.test(tail.slice(bar)));
  return { ...named, ...before, ...behindBar(tail.slice(tail.lastIndexOf("|") + 1)) };
}
