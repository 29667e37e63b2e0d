/** Samples into columns: no object per sample, 64-bit values as pairs of words. */
import type { Batch } from "../../../columnar/batch.ts";
import { columnRoom, roomBatch } from "../../../columnar/column-room.ts";
import { codesOf } from "../../../schema/row.ts";
import { FAULT } from "../../../schema/shared-numbers.ts";
import type { AccessOp } from "../../../schema/words.ts";
import { accessBatch, accessColumns, ROWS } from "../../access-columns.ts";
import { decodeDataSource } from "../../data-src.ts";
import { MISC } from "./abi.ts";
import { type Account, count, type EventAccount, eventAccount } from "./account.ts";
import type { FileEvent } from "./event.ts";
import type { EventTable } from "./event-table.ts";
import { fixedTail, needsWalk, TAIL, walkTail } from "./sample-plan.ts";

const OP = codesOf("access", "op_type");
const EVIDENCE = codesOf("access", "op_evidence");
const SOURCE = codesOf("access", "source");

/**
 * What a timer's sample accessed, from its instruction and registers.
 * @param registers words of the interrupted registers, low word first, in the order of the event's mask
 * @returns address and op, or null where the instruction accesses nothing or cannot be decoded
 */
export type TimerSink = (
  pid: number,
  ip: bigint,
  registers: Uint32Array,
  mask: bigint,
) => { readonly address: bigint; readonly op: AccessOp } | null;

export interface SampleReader {
  /** @param start 32-bit index of the record in `words`; @param size its bytes; @param cpumode of its misc word */
  read(words: Uint32Array, start: number, size: number, cpumode: number): void;
  flush(): void;
  readonly first_ns: bigint;
  readonly last_ns: bigint;
}

const UNKNOWN_OP = OP.unknown;
/** Codes by the op field; a prefetch and a fetch of code are neither load nor store. */
const OP_CODES = new Uint32Array(32).map((_, field) => {
  const { op } = decodeDataSource(BigInt(field));
  return op === "prefetch" || op === "exec" ? UNKNOWN_OP : OP[op];
});
const { data_src: BY_DATA_SRC, event: BY_EVENT, decoded: BY_DECODING, none: BY_NOTHING } = EVIDENCE;
/** Addresses from here on are the kernel's, also with five-level page tables. */
const KERNEL_HIGH_WORD = 0x01000000;
/** Reasons by which a sample is lost; by all others it is left out. */
const DROPS: ReadonlySet<string> = new Set(["unknown_event", "malformed"]);
const NO_PROCESS = 0xffffffff;
const LARGEST_RECORD_WORDS = 1 << 14;

function swapWord(word: number): number {
  return ((word & 0xff) << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24);
}

/** What is looked up once per event. */
interface Prepared {
  readonly event: FileEvent;
  readonly source: number;
  readonly op: number;
  readonly walks: boolean;
  /** Where the fields behind the fixed ones lie in this sample, or in every one. */
  readonly tail: Int32Array;
  /** Least length of a sample whose fields all have their place, 64-bit words; null where each must be walked. */
  readonly fixedWords: number | null;
  readonly watchId: number;
  readonly account: EventAccount;
}

export function createSampleReader(
  events: EventTable,
  account: Account,
  swapped: boolean,
  onBatch: (batch: Batch) => void,
  onTimer: TimerSink | null,
  capacity = ROWS,
): SampleReader {
  const access = accessColumns(capacity);
  const { data, words: halves, valid } = access;
  const fault = columnRoom("fault", capacity);
  const { data: faultData, words: faultHalves } = fault;
  const scratch = new Uint32Array(LARGEST_RECORD_WORDS);
  const low: 0 | 1 = swapped ? 1 : 0;
  const high = 1 - low;
  let prepared: Prepared[] = [];
  let listed: readonly FileEvent[] | null = null;
  let first: bigint | null = null;
  let last = 0n;

  function prepare(list: readonly FileEvent[]): void {
    listed = list;
    let watches = 0;
    prepared = list.map((event, place) => {
      const tail = new Int32Array(3);
      const ofEvent = eventAccount(account, place);
      ofEvent.source = event.unused !== null ? null : event.use === "fault" ? "fault" : event.source;
      return {
        event,
        source: SOURCE[event.source],
        op: OP[event.op],
        walks: needsWalk(event.plan),
        tail,
        fixedWords: fixedTail(event.plan, tail),
        watchId: event.use === "breakpoint" ? ++watches : 0,
        account: ofEvent,
      };
    });
    // Rows that came before an event was known to be a breakpoint have no watch: they are handed over first.
    if (watches > 0 && !access.watched) flushAccess();
    access.watched ||= watches > 0;
  }

  function flushAccess(): void {
    if (access.rows > 0) {
      noteTimes(data.timestamp_ns, access.rows);
      onBatch(accessBatch(access));
    }
    access.rows = 0;
  }

  function flushFaults(): void {
    if (fault.rows > 0) {
      noteTimes(faultData.timestamp_ns, fault.rows);
      onBatch(roomBatch("fault", fault));
    }
    fault.rows = 0;
  }

  function noteTimes(times: BigUint64Array, rows: number): void {
    const begin = times[0] ?? 0n;
    const end = times[rows - 1] ?? 0n;
    if (first === null || begin < first) first = begin;
    if (end > last) last = end;
    account.first_ns = first;
    account.last_ns = last;
  }

  /** The time of a sample that was left out: in a file of which none is kept nothing else tells when it was. */
  function noteLeftOut(words: Uint32Array, start: number, size: number): void {
    if (account.keptAccesses + account.keptFaults > 0) return;
    const timeAt = eventOf(words, start, size)?.event.plan.time ?? -1;
    if (timeAt < 0 || timeAt >= size) return;
    const time_ns =
      (BigInt(words[start + 2 * timeAt + high] ?? 0) << 32n) | BigInt(words[start + 2 * timeAt + low] ?? 0);
    if (account.left_first_ns === 0n || time_ns < account.left_first_ns) account.left_first_ns = time_ns;
    if (time_ns > account.left_last_ns) account.left_last_ns = time_ns;
  }

  /** Copies a 64-bit field, 0 where the sample has none. */
  function copyWide(out: Uint32Array, row: number, words: Uint32Array, start: number, wordAt: number): void {
    out[2 * row] = wordAt < 0 ? 0 : (words[start + 2 * wordAt + low] as number);
    out[2 * row + 1] = wordAt < 0 ? 0 : (words[start + 2 * wordAt + high] as number);
  }

  /** The event of a sample: the only one, else by its id. */
  function eventOf(words: Uint32Array, start: number, size: number): Prepared | null {
    if (prepared.length === 1) return prepared[0] ?? null;
    const plan = prepared[0]?.event.plan;
    const idAt = plan === undefined ? -1 : plan.identifier >= 0 ? plan.identifier : plan.id;
    if (idAt < 0) return prepared[0] ?? null;
    if (idAt >= size) return null;
    const position = events.byId(words[start + 2 * idAt + low] ?? 0, words[start + 2 * idAt + high] ?? 0);
    return prepared[position] ?? null;
  }

  function takeTimer(prepared: Prepared, words: Uint32Array, start: number, row: number, pid: number): boolean {
    const registersAt = prepared.tail[TAIL.REGS_INTR] ?? -1;
    if (onTimer === null || registersAt < 0) return false;
    const { interruptRegisters } = prepared.event.plan;
    const ip = (BigInt(halves.ip[2 * row + 1] ?? 0) << 32n) | BigInt(halves.ip[2 * row] ?? 0);
    const registers = words.slice(start + 2 * registersAt, start + 2 * (registersAt + interruptRegisters));
    if (swapped)
      for (let i = 0; i + 1 < registers.length; i += 2) {
        const word = registers[i] as number;
        registers[i] = registers[i + 1] as number;
        registers[i + 1] = word;
      }
    const found = onTimer(pid, ip, registers, prepared.event.attribute.regs_intr);
    if (found === null) return false;
    data.address[row] = found.address;
    data.op_type[row] = OP[found.op];
    data.op_evidence[row] = BY_DECODING;
    return true;
  }

  function takeFault(prepared: Prepared, words: Uint32Array, start: number, cpumode: number): null {
    const { plan } = prepared.event;
    const row = fault.rows;
    copyWide(faultHalves.timestamp_ns, row, words, start, plan.time);
    copyWide(faultHalves.address, row, words, start, plan.addr);
    copyWide(faultHalves.ip, row, words, start, plan.ip);
    faultData.pid[row] = plan.tid < 0 ? 0 : (words[start + 2 * plan.tid] as number);
    faultData.tid[row] = plan.tid < 0 ? 0 : (words[start + 2 * plan.tid + 1] as number);
    faultData.cpu[row] = plan.cpu < 0 ? 0 : (words[start + 2 * plan.cpu] as number);
    faultData.fault_flags[row] = FAULT.op_unknown | (cpumode === MISC.USER ? FAULT.user : 0);
    account.keptFaults += 1;
    if (++fault.rows === fault.capacity) flushFaults();
    return null;
  }

  /** Takes a sample, or says why not: one of DROPS where it is lost, else why it is left out. */
  function take(words: Uint32Array, start: number, size: number, cpumode: number): string | null {
    const prepared = eventOf(words, start, size);
    if (prepared === null) return "unknown_event";
    const { event } = prepared;
    const { plan } = event;
    prepared.account.samples += 1;
    if (event.unused !== null) return event.unused;
    const { tail, fixedWords } = prepared;
    if (plan.tail > size) return "malformed";
    if (prepared.walks && (fixedWords === null ? !walkTail(words, start, size, low, plan, tail) : size < fixedWords)) {
      return "malformed";
    }
    if (event.use === "fault") return takeFault(prepared, words, start, cpumode);
    const row = access.rows;
    const even = 2 * row;
    const odd = even + 1;
    const pid = plan.tid < 0 ? 0 : (words[start + 2 * plan.tid] as number);
    if (pid === NO_PROCESS) return "no_process";
    const addressHigh = plan.addr < 0 ? 0 : (words[start + 2 * plan.addr + high] as number);
    if (addressHigh >= KERNEL_HIGH_WORD) return "kernel_address";
    const addressLow = plan.addr < 0 ? 0 : (words[start + 2 * plan.addr + low] as number);
    halves.address[even] = addressLow;
    halves.address[odd] = addressHigh;
    halves.ip[even] = plan.ip < 0 ? 0 : (words[start + 2 * plan.ip + low] as number);
    halves.ip[odd] = plan.ip < 0 ? 0 : (words[start + 2 * plan.ip + high] as number);
    const dataSrcAt = prepared.walks ? (tail[TAIL.DATA_SRC] as number) : -1;
    const dataSrc = dataSrcAt < 0 ? 0 : (words[start + 2 * dataSrcAt + low] as number);
    const named = OP_CODES[dataSrc & 31] as number;
    data.op_type[row] = named === UNKNOWN_OP ? prepared.op : named;
    data.op_evidence[row] = named !== UNKNOWN_OP ? BY_DATA_SRC : prepared.op === UNKNOWN_OP ? BY_NOTHING : BY_EVENT;
    if (event.use === "timer") {
      if (!takeTimer(prepared, words, start, row, pid)) return "not_decoded";
    } else if (addressLow === 0 && addressHigh === 0) return "no_address";
    halves.data_src[even] = dataSrc;
    halves.data_src[odd] = dataSrcAt < 0 ? 0 : (words[start + 2 * dataSrcAt + high] as number);
    valid.data_src[row] = dataSrcAt < 0 ? 0 : 1;
    halves.timestamp_ns[even] = plan.time < 0 ? 0 : (words[start + 2 * plan.time + low] as number);
    halves.timestamp_ns[odd] = plan.time < 0 ? 0 : (words[start + 2 * plan.time + high] as number);
    data.pid[row] = pid;
    data.tid[row] = plan.tid < 0 ? 0 : (words[start + 2 * plan.tid + 1] as number);
    data.cpu[row] = plan.cpu < 0 ? 0 : (words[start + 2 * plan.cpu] as number);
    takePeriod(prepared, words, start, even);
    data.source[row] = prepared.source;
    data.in_kernel[row] = cpumode === MISC.KERNEL ? 1 : 0;
    const weightAt = prepared.walks ? (tail[TAIL.WEIGHT] as number) : -1;
    const weight = weightAt < 0 ? 0 : (words[start + 2 * weightAt + low] as number);
    data.weight_cycles[row] = weight;
    valid.weight_cycles[row] = weight === 0 ? 0 : 1;
    if (access.watched) {
      data.watch_id[row] = prepared.watchId;
      valid.watch_id[row] = prepared.watchId === 0 ? 0 : 1;
    }
    account.keptAccesses += 1;
    account.keptBySource[prepared.source] = (account.keptBySource[prepared.source] as number) + 1;
    if (++access.rows === access.capacity) flushAccess();
    return null;
  }

  /** A period that counts no accesses is 0; without one in the sample it is the event's own. */
  function takePeriod({ event }: Prepared, words: Uint32Array, start: number, even: number): void {
    const { plan, attribute } = event;
    const periodWords = halves.period;
    if (event.uncounted !== null) periodWords[even] = periodWords[even + 1] = 0;
    else if (plan.period >= 0) {
      periodWords[even] = words[start + 2 * plan.period + low] as number;
      periodWords[even + 1] = words[start + 2 * plan.period + high] as number;
    } else {
      const fixed = attribute.by_frequency ? 0n : attribute.sample_period;
      periodWords[even] = Number(fixed & 0xffffffffn);
      periodWords[even + 1] = Number(fixed >> 32n);
    }
  }

  function inOurOrder(words: Uint32Array, start: number, size: number): Uint32Array {
    const length = Math.min(size >> 2, LARGEST_RECORD_WORDS);
    for (let i = 0; i < length; i++) scratch[i] = swapWord(words[start + i] as number);
    return scratch;
  }

  return {
    read(words, start, size, cpumode) {
      const list = events.list;
      if (list !== listed) prepare(list);
      account.samples += 1;
      const [ordered, from] = swapped ? [inOurOrder(words, start, size), 0] : [words, start];
      const refused = take(ordered, from, size >> 3, cpumode);
      if (refused === null) return;
      if (DROPS.has(refused)) count(account.dropped, refused);
      else {
        count(account.filtered, refused);
        noteLeftOut(ordered, from, size >> 3);
      }
    },
    flush() {
      flushAccess();
      flushFaults();
    },
    get first_ns() {
      if (first !== null) return first;
      return (access.rows > 0 ? data.timestamp_ns[0] : fault.rows > 0 ? faultData.timestamp_ns[0] : 0n) ?? 0n;
    },
    get last_ns() {
      return last;
    },
  };
}
