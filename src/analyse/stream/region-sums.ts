/** Sums of each region of a trace that holds every access, by the trace's own numbering. */
import { OP } from "../../schema/operation.ts";
import { CLASSES, CODE_BITS, classOf, opOf } from "./trace-columns.ts";

const WORD = 2 ** 32;
const PAGE_SHIFT = 12;
const CODE_MASK = (1 << CODE_BITS) - 1;
/** Regions that are told of: those met first. */
const MOST_REGIONS = 1 << 12;
/** Slots for pages of all regions, of which half are filled at most. */
const PAGE_SLOTS = 1 << 20;

/** What all rows of a region say. */
export interface RegionSum {
  readonly region_id: number;
  readonly region_type: (typeof CLASSES)[number];
  readonly loads: number;
  readonly stores: number;
  /** Neither known as loads nor as stores. */
  readonly unknown: number;
  readonly rows: number;
  /** ns since the first row of the file; null where there is none. */
  readonly first_store_ns: number | null;
  readonly last_load_ns: number | null;
  /** 4 KiB pages; null where all regions together touch too many to count them. */
  readonly pages: number | null;
  /** Of successive rows of the region, whatever their thread: in the order of the file. */
  readonly stride_sum_bytes: number;
  readonly same_page: number;
}

export interface RegionSums {
  /** False once a region was met for which there was no room. */
  readonly isWhole: boolean;
  /**
   * @param region number of each row's region and 1; 0 for none
   * @param whole 0 for a row without an address or a time
   */
  add(
    region: Uint32Array,
    address: Uint32Array,
    time_ns: Uint32Array,
    code: Uint32Array,
    whole: Uint8Array,
    rows: number,
  ): void;
  /** By number of the region. */
  sums(): RegionSum[];
}

export function regionSums(): RegionSums {
  const placeOf = new Map<number, number>();
  const numbers: number[] = [];
  const column = (fill = 0) => new Float64Array(MOST_REGIONS).fill(fill);
  const [loads, stores, unknown] = [column(), column(), column()];
  const [rowsOf, pages, strides, same] = [column(), column(), column(), column()];
  const [firstStore, lastLoad] = [column(Number.NaN), column(Number.NaN)];
  const kinds = new Uint8Array(MOST_REGIONS);
  const lastLow = new Uint32Array(MOST_REGIONS);
  const lastHigh = new Uint32Array(MOST_REGIONS);
  /** Pages met: the low word, and the high bits above the place of the region and 1. */
  const pageLow = new Uint32Array(PAGE_SLOTS);
  const pageHigh = new Uint32Array(PAGE_SLOTS);
  let pageCount = 0;
  let isWhole = true;
  let firstTimeLow = -1;
  let firstTimeHigh = 0;

  function meetPage(place: number, low: number, high: number): void {
    if (pageCount > PAGE_SLOTS / 2) return;
    const page = ((low >>> PAGE_SHIFT) | (high << (32 - PAGE_SHIFT))) >>> 0;
    const rest = (((high >>> PAGE_SHIFT) << 13) | (place + 1)) >>> 0;
    let slot = ((Math.imul(page, 0x9e3779b1) ^ Math.imul(rest, 0x85ebca6b)) >>> 12) % PAGE_SLOTS;
    while (pageHigh[slot] !== 0) {
      if (pageLow[slot] === page && pageHigh[slot] === rest) return;
      slot = (slot + 1) % PAGE_SLOTS;
    }
    pageLow[slot] = page;
    pageHigh[slot] = rest;
    pageCount += 1;
    pages[place] = (pages[place] as number) + 1;
  }

  return {
    get isWhole() {
      return isWhole;
    },
    add(region, address, time_ns, code, whole, rows) {
      let lastRegion = 0;
      let place = 0;
      for (let i = 0; i < rows; i++) {
        const number = region[i] as number;
        if (number === 0 || whole[i] === 0) continue;
        if (number !== lastRegion) {
          const found = placeOf.get(number);
          if (found === undefined && numbers.length === MOST_REGIONS) {
            isWhole = false;
            continue;
          }
          place = found ?? numbers.push(number) - 1;
          if (found === undefined) placeOf.set(number, place);
          lastRegion = number;
        }
        const low = address[2 * i] as number;
        const high = address[2 * i + 1] as number;
        if (firstTimeLow < 0) {
          firstTimeLow = time_ns[2 * i] as number;
          firstTimeHigh = time_ns[2 * i + 1] as number;
        }
        const time =
          (time_ns[2 * i] as number) - firstTimeLow + ((time_ns[2 * i + 1] as number) - firstTimeHigh) * WORD;
        const packed = (code[i] as number) & CODE_MASK;
        const op = opOf(packed);
        if (op === OP.load || op === OP.load_store) {
          loads[place] = (loads[place] as number) + 1;
          if (!((lastLoad[place] as number) >= time)) lastLoad[place] = time;
        }
        if (op === OP.store || op === OP.load_store) {
          stores[place] = (stores[place] as number) + 1;
          if (!((firstStore[place] as number) <= time)) firstStore[place] = time;
        }
        if (op === OP.unknown) unknown[place] = (unknown[place] as number) + 1;
        const isSamePage = high === lastHigh[place] && low >>> PAGE_SHIFT === (lastLow[place] as number) >>> PAGE_SHIFT;
        if ((rowsOf[place] as number) > 0) {
          const stride = Math.abs((high - (lastHigh[place] as number)) * WORD + (low - (lastLow[place] as number)));
          strides[place] = (strides[place] as number) + stride;
          if (isSamePage) same[place] = (same[place] as number) + 1;
          else meetPage(place, low, high);
        } else {
          kinds[place] = classOf(packed);
          meetPage(place, low, high);
        }
        rowsOf[place] = (rowsOf[place] as number) + 1;
        lastLow[place] = low;
        lastHigh[place] = high;
      }
    },
    sums() {
      const timeOrNull = (time: number | undefined): number | null =>
        time === undefined || Number.isNaN(time) ? null : time;
      return numbers
        .map((number, place) => ({
          region_id: number - 1,
          region_type: CLASSES[kinds[place] ?? 0] ?? "unknown",
          loads: loads[place] ?? 0,
          stores: stores[place] ?? 0,
          unknown: unknown[place] ?? 0,
          rows: rowsOf[place] ?? 0,
          first_store_ns: timeOrNull(firstStore[place]),
          last_load_ns: timeOrNull(lastLoad[place]),
          pages: pageCount > PAGE_SLOTS / 2 ? null : (pages[place] ?? 0),
          stride_sum_bytes: strides[place] ?? 0,
          same_page: same[place] ?? 0,
        }))
        .sort((a, b) => a.region_id - b.region_id);
    },
  };
}
