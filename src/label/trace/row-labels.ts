/** Accesses with their labels: which region, slot of time and instruction each row has, and the columns of `trace`. */

import { keyNumbers } from "../../columnar/keys/key-numbers.ts";
import { type RowKeys, rowKeys } from "../../columnar/keys/row-keys.ts";
import { twoWords } from "../../columnar/two-words.ts";
import type { Encodable, EncodableColumn } from "../../columnar/write/encodable.ts";
import { opOf } from "../../schema/operation.ts";
import { type EveryColumn, wordsOf as namesOf } from "../../schema/row.ts";
import {
  type AccessRows,
  type AccessWords,
  accessWords,
  FACTS,
  gatherRows,
  sliceRows,
  type WordLists,
} from "../capture/access-rows.ts";
import type { CodePlaces, MappingFacts } from "../capture/mapping-stays.ts";
import type { PlaceIndex } from "../regions/place-index.ts";
import type { RegionFacts, Regions } from "../regions/region-map.ts";
import { type Slot, slotAt, type Timeline } from "../timeline/phase.ts";
import { CACHE_LEVELS, cacheLevelOf } from "./cache-level.ts";
import { codeNamer } from "./code-places.ts";
import { type HeatSums, heatSums, TIME_BINS } from "./heat-sums.ts";
import { type LabelList, labelList } from "./label-lists.ts";
import { type RegionAccesses, regionAccesses } from "./region-accesses.ts";

const WORD = 2 ** 32;
const PAGE_SHIFT = 12;
/** Classes by the number that stands for them. */
const KINDS = namesOf("trace", "region_type");

export interface TraceLabels {
  readonly runId: string;
  readonly regions: Regions;
  /** Over the regions. */
  readonly index: PlaceIndex;
  readonly code: CodePlaces;
  /** What the places of code are. */
  readonly mappings: readonly MappingFacts[];
  readonly timeline: Timeline;
  readonly originNs: bigint;
  /** Length of the run. */
  readonly windowNs: number;
}

export interface RowLabels {
  readonly accesses: RegionAccesses;
  readonly heat: HeatSums;
  /**
   * Rows `order[from .. to-1]` with the columns of `trace`; where `order` is null rows `from .. to-1`. The arrays are
   * good until the next call.
   * @param sample number of the first of them
   */
  label(rows: AccessRows, order: Uint32Array | null, from: number, end: number, sample: number): Encodable;
}

/** Slots of all processes in one list; number 0 is what no engine claims. */
function slotLabels(timeline: Timeline, runId: string) {
  const firstOf = new Map<number, number>();
  const lists = {
    // The same for every slot: a column that follows from few keys costs nothing per row.
    run_id: labelList<string>(),
    phase: labelList<string>(),
    step: labelList<string>(),
    token_index: labelList<number>(),
    context_tokens: labelList<number>(),
  };
  const push = (slot: Slot | null) => {
    lists.run_id.push(runId);
    lists.phase.push(slot?.phase ?? null);
    lists.step.push(slot?.step ?? null);
    lists.token_index.push(slot?.token_index ?? null);
    lists.context_tokens.push(slot?.context_tokens ?? null);
  };
  push(null);
  for (const [pid, slots] of timeline) {
    firstOf.set(pid, lists.phase.codes.length);
    for (const slot of slots) push(slot);
  }
  return { firstOf, lists };
}

/** What regions are, by its position in the list and 1; 0 is what no region claims. */
function factLabels(facts: readonly RegionFacts[]) {
  const lists = {
    region_type: labelList<string>(),
    logical_id: labelList<string>(),
    tensor: labelList<string>(),
    confidence: labelList<number>(),
  };
  const push = (found: RegionFacts | null) => {
    lists.region_type.push(found?.region_type ?? "unknown");
    lists.logical_id.push(found?.logical_id ?? null);
    lists.tensor.push(found?.tensor ?? null);
    lists.confidence.push(found?.confidence ?? 0);
  };
  push(null);
  for (const found of facts) push(found);
  return lists;
}

/** Columns of one group of rows that are made here. */
function columnsFor(rows: number) {
  const narrow = () => new Uint32Array(rows);
  return {
    region: narrow(),
    fact: narrow(),
    slot: narrow(),
    code: narrow(),
    factCodes: narrow(),
    slotCodes: narrow(),
    codeCodes: narrow(),
    page: new BigUint64Array(rows),
    sample: new BigUint64Array(rows),
    cpu: new Uint16Array(rows),
    hasWatch: new Uint8Array(rows),
    hasWeight: new Uint8Array(rows),
    op: narrow(),
    source: narrow(),
    level: narrow(),
  };
}

const wordsOf = (data: BigUint64Array): Uint32Array => new Uint32Array(data.buffer, data.byteOffset, data.length * 2);
const wholes = (words: Uint32Array<ArrayBuffer>): BigUint64Array =>
  new BigUint64Array(words.buffer, words.byteOffset, words.length >> 1);

/** Times are exact as long as they lie within 104 days of the origin. */
export function rowLabels(labels: TraceLabels, lists: WordLists, groupRows: number): RowLabels {
  const { regions, index, timeline } = labels;
  const byFact = factLabels(regions.facts);
  const { firstOf, lists: bySlot } = slotLabels(timeline, labels.runId);
  const byCode = { symbol: labelList<string>(), dso: labelList<string>() };
  const ips: bigint[] = [];
  const ipCodes: number[] = [];
  const nameOf = codeNamer(labels.code, labels.mappings);
  const codes = keyNumbers();
  let ipNumbers = new BigUint64Array(0);
  const levelOf = cacheLevelOf();
  const { low: originLow, high: originHigh } = twoWords(labels.originNs);
  const accesses = regionAccesses(regions.count);
  const heat = heatSums(Math.max(1, Math.ceil((labels.windowNs + 1) / TIME_BINS)));
  const kinds = Uint8Array.from([null, ...regions.facts], (found) => KINDS.indexOf(found?.region_type ?? "unknown"));
  const out = columnsFor(groupRows);
  /** Rows in order of time, where they were not. */
  let gathered: AccessWords | null = null;
  const pageWords = wordsOf(out.page);
  const sampleWords = wordsOf(out.sample);

  /** Makes the columns that follow from the row alone. */
  function unpack({ address, cpu, data_src, facts }: AccessWords, n: number): void {
    for (let i = 0; i < n; i++) {
      const low = 2 * i;
      const high = low + 1;
      const addressHigh = address[high] as number;
      pageWords[low] = ((address[low] as number) >>> PAGE_SHIFT) | (addressHigh << (32 - PAGE_SHIFT));
      pageWords[high] = addressHigh >>> PAGE_SHIFT;
      const fact = facts[i] as number;
      out.op[i] = fact & FACTS.MASK;
      out.source[i] = (fact >>> FACTS.SOURCE_SHIFT) & FACTS.MASK;
      out.hasWatch[i] = fact & FACTS.HAS_WATCH ? 1 : 0;
      out.hasWeight[i] = fact & FACTS.HAS_WEIGHT ? 1 : 0;
      out.cpu[i] = cpu[i] as number;
      out.level[i] = levelOf(data_src[low] as number, data_src[high] as number);
    }
  }

  /** Number of an instruction; a new one is named at once. */
  function codeOf(pid: number, low: number, high: number, first_ns: number): number {
    const codesBefore = codes.count;
    const code = codes.find(pid, low, high);
    if (code === codesBefore) {
      const ip = (BigInt(high) << 32n) | BigInt(low);
      const name = nameOf({ pid, ip, first_ns });
      byCode.symbol.push(name.symbol);
      byCode.dso.push(name.dso);
      ipCodes.push(ips.push(ip) - 1);
    }
    return code;
  }

  let slotPid = -1;
  let slots: readonly Slot[] | undefined;
  let firstSlot = 0;
  let begin = 0;
  let end = 0;
  let slot = 0;

  /** The slot of a process at a time; rows come in order of time, so it is nearly always that of the row before. */
  function slotOf(pid: number, when: number): number {
    if (pid !== slotPid) {
      slotPid = pid;
      slots = timeline.get(pid);
      firstSlot = firstOf.get(pid) ?? 0;
      begin = end = 0;
    }
    if (slots === undefined) return 0;
    if (!(when >= begin && when < end)) {
      const slotIndex = slotAt(slots, when);
      begin = slots[slotIndex]?.begin_ns ?? Number.NEGATIVE_INFINITY;
      end = slots[slotIndex + 1]?.begin_ns ?? Number.POSITIVE_INFINITY;
      slot = firstSlot + slotIndex;
    }
    return slot;
  }

  function lookUp({ timestamp, address, ip, pid: pids, period }: AccessWords, n: number, sample: number): void {
    const ops = Uint8Array.from(lists.ops, opOf);
    let sampleLow = sample % WORD;
    let sampleHigh = Math.floor(sample / WORD);
    for (let i = 0; i < n; i++) {
      const low = 2 * i;
      const high = low + 1;
      const when = (timestamp[low] as number) - originLow + ((timestamp[high] as number) - originHigh) * WORD;
      const pid = pids[i] as number;
      const place = index.find(pid, (address[low] as number) + (address[high] as number) * WORD, when);
      out.region[i] = place + 1;
      out.fact[i] = place < 0 ? 0 : (regions.what[place] as number) + 1;
      if (place >= 0) accesses.add(place, when);
      heat.add(
        kinds[out.fact[i] as number] as number,
        out.source[i] as number,
        pid,
        place + 1,
        address[low] as number,
        address[high] as number,
        when,
        ops[out.op[i] as number] as number,
        (period[low] as number) + (period[high] as number) * WORD,
      );
      out.slot[i] = slotOf(pid, when);
      out.code[i] = codeOf(pid, ip[low] as number, ip[high] as number, when);
      sampleWords[low] = sampleLow;
      sampleWords[high] = sampleHigh;
      if (++sampleLow === WORD) {
        sampleLow = 0;
        sampleHigh += 1;
      }
    }
    if (ips.length > ipNumbers.length) ipNumbers = BigUint64Array.from(ips);
  }

  const texts = (key: RowKeys, list: LabelList<string>): EncodableColumn => ({
    key,
    codes: list.codes,
    values: list.values,
  });
  const numbers = (key: RowKeys, list: LabelList<number>, type: Uint32ArrayConstructor | Float32ArrayConstructor) => ({
    key,
    codes: list.codes,
    values: type.from(list.values),
  });

  return {
    accesses,
    heat,
    label(rows, order, from, until, sample) {
      const n = until - from;
      let words = sliceRows(rows.words, from, n);
      if (order !== null) {
        gathered ??= accessWords(groupRows);
        gatherRows(rows.words, order, from, n, gathered);
        words = sliceRows(gathered, 0, n);
      }
      unpack(words, n);
      lookUp(words, n, sample);
      const fact = rowKeys(out.fact, n, out.factCodes);
      const slot = rowKeys(out.slot, n, out.slotCodes);
      const code = rowKeys(out.code, n, out.codeCodes);
      return {
        table: "trace",
        rows: n,
        columns: {
          run_id: texts(slot, bySlot.run_id),
          sample_id: { data: out.sample },
          timestamp_ns: { data: wholes(words.timestamp) },
          phase: texts(slot, bySlot.phase),
          address: { data: wholes(words.address) },
          address_page: { data: out.page },
          op_type: { codes: out.op, values: lists.ops },
          symbol: texts(code, byCode.symbol),
          dso: texts(code, byCode.dso),
          region_type: texts(fact, byFact.region_type),
          region_id: { data: out.region },
          // What a source gives is cycles, never ns, and no source here says which node: both columns stay empty.
          cache_level: { codes: out.level, values: CACHE_LEVELS },
          cpu_id: { data: out.cpu },
          thread_id: { data: words.tid },
          token_index: numbers(slot, bySlot.token_index, Uint32Array),
          context_tokens: numbers(slot, bySlot.context_tokens, Uint32Array),
          pid: { data: words.pid },
          source: { codes: out.source, values: lists.sources },
          ip: { key: code, codes: ipCodes, values: ipNumbers },
          period: { data: wholes(words.period) },
          watch_id: { data: words.watch, valid: out.hasWatch },
          step: texts(slot, bySlot.step),
          logical_id: texts(fact, byFact.logical_id),
          tensor: texts(fact, byFact.tensor),
          confidence: numbers(fact, byFact.confidence, Float32Array),
          weight_cycles: { data: words.weight, valid: out.hasWeight },
        } satisfies EveryColumn<"trace", "access_latency_ns" | "numa_node">,
      };
    },
  };
}
