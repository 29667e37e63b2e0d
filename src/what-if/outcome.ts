/** What a load would do to a device: whether it fits, and what that takes. */
import type { Device } from "../config/device-schema.ts";
import { YEAR_NS } from "../units.ts";
import type { Demand } from "./demand.ts";
import type { DeviceFigures } from "./device-figures.ts";
import { busTraffic, type Load, refreshesPerHour, refreshesPerWrite } from "./load.ts";
import { between, exactly, most, product, type Quantity, quotient, sum, unknown } from "./quantity.ts";

/** What is told of a class on a device, in the order of the table, with its unit. */
export const OUTCOME_UNITS = {
  capacity_share: "ratio",
  bandwidth_share: "ratio",
  read_bytes_per_s: "bytes/s",
  write_bytes_per_s: "bytes/s",
  read_in_flight_bytes: "bytes",
  write_in_flight_bytes: "bytes",
  refreshes_per_write_p50: "refreshes",
  refreshes_per_write_p99: "refreshes",
  refreshes_per_hour: "refreshes/h",
  refresh_bytes_per_s: "bytes/s",
  power_w: "W",
  energy_per_token_j: "J/token",
  life_years: "years",
} as const;
export type OutcomeName = keyof typeof OUTCOME_UNITS;
export type Outcome = Readonly<Record<OutcomeName, Quantity>>;

export type Verdict = "yes" | "no" | "open";

/** Whether a share is at most one, whatever holds of what it is made of. */
export function fitsWithin({ lo, hi }: Quantity): Verdict {
  if (hi !== null && hi <= 1) return "yes";
  return lo > 1 ? "no" : "open";
}

const WATTS_PER_PJ = exactly(1e-12);
const PER_NS = exactly(1e-9);

/**
 * The largest of the shares that the device file lets be known; unknown where it names no bandwidth, and without an upper end where what
 * it names leaves out reads or writes.
 */
export function bandwidthShare(load: Load, device: Device, figures: DeviceFigures): Quantity {
  const { reads, writes } = busTraffic(load, device.refreshed_by === "device");
  const shares = [
    quotient(sum(reads, writes), figures.bandwidth),
    quotient(reads, figures.read_bandwidth),
    quotient(writes, figures.write_bandwidth),
  ];
  const named = [figures.bandwidth, figures.read_bandwidth, figures.write_bandwidth];
  const [isTotal, isOfReads, isOfWrites] = named.map(({ lo, hi }) => lo > 0 || hi !== null);
  const stated = shares.filter((_, i) => [isTotal, isOfReads, isOfWrites][i]);
  if (stated.length === 0) return unknown("the device file does not say its bandwidth");
  const share = most(...stated);
  if (isTotal || (isOfReads && isOfWrites)) return share;
  return between(
    share.lo,
    null,
    `the device file does not say its ${isOfReads ? "write" : "read"} bandwidth`,
    share.rests_on,
  );
}

/** Watts: bytes read, written and refreshed, each times its energy. A refresh by software is a read and a write. */
function powerOf(load: Load, device: Device, figures: DeviceFigures): Quantity {
  const { read_energy, write_energy, refresh_energy } = figures;
  const refresh = device.refreshed_by === "device" ? refresh_energy : sum(read_energy, write_energy);
  return product(
    sum(
      product(load.read_bytes_per_s, read_energy),
      product(load.write_bytes_per_s, write_energy),
      product(load.refresh_bytes_per_s, refresh),
    ),
    WATTS_PER_PJ,
  );
}

/**
 * Years until the mean cell has taken the writes that it survives: endurance x bytes / (bytes written a second). The bytes are
 * those of the device where it spreads its writes. Where it does not they are those of the class, and some cells go before the mean.
 */
function lifeOf(load: Load, device: Device, { endurance, capacity }: DeviceFigures): Quantity {
  const years = (bytes: Quantity): Quantity =>
    quotient(
      product(endurance, bytes),
      product(sum(load.write_bytes_per_s, load.refresh_bytes_per_s), exactly(YEAR_NS / 1e9)),
    );
  if (device.wear_levelling === true) return years(capacity);
  const mean = device.wear_levelling === false ? years(load.size_bytes) : most(years(load.size_bytes), years(capacity));
  if (mean.hi === null) return unknown(mean.why ?? "no end of it is known", "not_identifiable", mean.rests_on);
  return between(
    0,
    mean.hi,
    "writes are not known to be spread evenly: some cells take more than the mean",
    mean.rests_on,
  );
}

/** @param demand of one class; null for classes together, which are kept for times of their own */
export function outcomeOf(
  load: Load,
  demand: Demand | null,
  tokens_per_s: Quantity,
  device: Device,
  figures: DeviceFigures,
): Outcome {
  const { retention } = figures;
  const none = unknown("the classes are kept for times of their own");
  const power_w = powerOf(load, device, figures);
  const { reads, writes } = busTraffic(load, device.refreshed_by === "device");
  return {
    capacity_share: quotient(load.size_bytes, figures.capacity),
    bandwidth_share: bandwidthShare(load, device, figures),
    read_bytes_per_s: reads,
    write_bytes_per_s: writes,
    read_in_flight_bytes: product(product(reads, figures.read_latency), PER_NS),
    write_in_flight_bytes: product(product(writes, figures.write_latency), PER_NS),
    refreshes_per_write_p50: demand === null ? none : refreshesPerWrite(demand.kept_ns.p50, retention),
    refreshes_per_write_p99: demand === null ? none : refreshesPerWrite(demand.kept_ns.p99, retention),
    refreshes_per_hour: demand === null ? none : refreshesPerHour(demand.kept_ns.p99, retention),
    refresh_bytes_per_s: load.refresh_bytes_per_s,
    power_w,
    energy_per_token_j: quotient(power_w, tokens_per_s),
    life_years: lifeOf(load, device, figures),
  };
}
