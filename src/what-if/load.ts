/** What a class puts on a device: its bytes, its traffic, and what keeping it there adds. */
import type { Demand } from "./demand.ts";
import type { DeviceFigures } from "./device-figures.ts";
import { between, type Quantity, quotient, sum, unknown } from "./quantity.ts";

export interface Load {
  readonly name: string;
  readonly size_bytes: Quantity;
  readonly read_bytes_per_s: Quantity;
  readonly write_bytes_per_s: Quantity;
  /** Bytes that are written again so that they are not lost, each second. */
  readonly refresh_bytes_per_s: Quantity;
}

/** Times that data is written again before it has been kept for `kept`, where it lasts for `lasts`: ceil(kept / lasts) - 1. */
export function refreshesOf(kept: number, lasts: number): number {
  return Math.max(0, Math.ceil(kept / lasts) - 1);
}

/** Refreshes of a datum from its write until it is needed no more. */
export function refreshesPerWrite(kept_ns: Quantity, retention_ns: Quantity): Quantity {
  const ratio = quotient(kept_ns, retention_ns);
  if (ratio.lo <= 0 && ratio.hi === null) return ratio;
  const { value, lo, hi } = ratio;
  const whole = (x: number): number => refreshesOf(x, 1);
  // A device that lasts as long as may be needs none, however little is known of the need.
  if (whole(lo) === 0 && hi === null)
    return unknown(ratio.why ?? "no upper end of how long it is kept", "not_identifiable", ratio.rests_on);
  return { ...ratio, value: value === null ? null : whole(value), lo: whole(lo), hi: hi === null ? null : whole(hi) };
}

const HOUR_NS = 3600e9;

/**
 * Refreshes in an hour of a datum that is in need: N / K with N = ceil(K / T) - 1, which lies between 1/T - 1/K and 1/T.
 * @param kept_ns K, how long it is kept @param retention_ns T, how long the device keeps it
 */
export function refreshesPerHour(kept_ns: Quantity, retention_ns: Quantity): Quantity {
  const per_write = refreshesPerWrite(kept_ns, retention_ns);
  const rests_on = [...new Set([...kept_ns.rests_on, ...retention_ns.rests_on])];
  if (retention_ns.lo <= 0 && per_write.hi !== 0)
    return { ...unknown(retention_ns.why ?? "not known how long the device keeps data"), rests_on };
  if (per_write.hi === 0) return { ...per_write, rests_on };
  const most = 1 / retention_ns.lo;
  const hi = per_write.hi !== null && kept_ns.lo > 0 ? Math.min(most, per_write.hi / kept_ns.lo) : most;
  const slowest = retention_ns.hi === null || kept_ns.lo <= 0 ? 0 : 1 / retention_ns.hi - 1 / kept_ns.lo;
  const lo = Math.max(0, slowest, kept_ns.hi === null ? 0 : per_write.lo / kept_ns.hi);
  const value =
    kept_ns.value === null || retention_ns.value === null
      ? null
      : refreshesOf(kept_ns.value, retention_ns.value) / kept_ns.value;
  if (value !== null && per_write.status === "ok") {
    const ends = { lo: Math.min(lo, value) * HOUR_NS, hi: Math.max(hi, value) * HOUR_NS };
    return { value: value * HOUR_NS, ...ends, status: "ok", why: null, rests_on };
  }
  return between(lo * HOUR_NS, hi * HOUR_NS, kept_ns.why ?? retention_ns.why, rests_on);
}

/**
 * Bytes that must be written again in each second. From below: what was kept longer than a quantile's lower end is at least
 * the rest of the bytes written, of all steps: while a server rests its data is kept, and none is written. From above: each byte of the class once in each retention time of the device.
 */
function refreshBytesPerSecond(demand: Demand, retention_ns: Quantity): Quantity {
  const { kept_ns, write_bytes_per_s, write_bytes_per_s_of_all, size_bytes, is_kept_by_life } = demand;
  const each = (kept: Quantity): number =>
    retention_ns.hi === null || is_kept_by_life ? 0 : refreshesOf(kept.lo, retention_ns.hi);
  const perByte = 0.4 * each(kept_ns.p50) + 0.09 * each(kept_ns.p90) + 0.01 * each(kept_ns.p99);
  const written = [write_bytes_per_s, write_bytes_per_s_of_all];
  const lo = Math.min(...written.map((rate) => rate.lo)) * perByte;
  if (retention_ns.lo <= 0) return unknown(retention_ns.why ?? "not known how long the device keeps data");
  if (size_bytes.hi === null)
    return unknown(size_bytes.why ?? "not known how large the class is", "not_identifiable", size_bytes.rests_on);
  const hi = size_bytes.hi / (retention_ns.lo / 1e9);
  const rests_on = [
    ...size_bytes.rests_on,
    ...(lo > 0 ? [...written, ...Object.values(kept_ns)].flatMap((one) => one.rests_on) : []),
  ];
  const why = "no more than every byte in each retention time of the device";
  // Of a short look the two ends may contradict each other: then neither is relied on.
  return between(Math.min(lo, hi), Math.max(lo, hi), why, [...new Set(rests_on)]);
}

export function loadOf(demand: Demand, { retention }: Pick<DeviceFigures, "retention">): Load {
  const { name, size_bytes, read_bytes_per_s, write_bytes_per_s } = demand;
  return {
    name,
    size_bytes,
    read_bytes_per_s,
    write_bytes_per_s,
    refresh_bytes_per_s: refreshBytesPerSecond(demand, retention),
  };
}

/** Several loads on one device. */
export function loadsTogether(name: string, loads: readonly Load[]): Load {
  const total = (key: Exclude<keyof Load, "name">): Quantity => sum(...loads.map((load) => load[key]));
  return {
    name,
    size_bytes: total("size_bytes"),
    read_bytes_per_s: total("read_bytes_per_s"),
    write_bytes_per_s: total("write_bytes_per_s"),
    refresh_bytes_per_s: total("refresh_bytes_per_s"),
  };
}

/** What crosses the bus of a device for its load, in each second. */
export function busTraffic({ read_bytes_per_s, write_bytes_per_s, refresh_bytes_per_s }: Load, isInside: boolean) {
  if (isInside) return { reads: read_bytes_per_s, writes: write_bytes_per_s };
  return { reads: sum(read_bytes_per_s, refresh_bytes_per_s), writes: sum(write_bytes_per_s, refresh_bytes_per_s) };
}
