/** What `compare` says of the requests of our clients in traced runs: how many the engine's steps tell of, and what. */
import type { ObserverEffect } from "../schema/observer-effect.ts";
import { quantile } from "../statistics/quantile.ts";
import { formatBytes, formatCount, formatNs } from "../units.ts";

/** One line; null where no run has requests. */
export function effectRequestsText({ runs }: Pick<ObserverEffect, "runs">): string | null {
  const all = runs.filter(({ block }) => block >= 0).flatMap(({ requests = [] }) => requests);
  if (all.length === 0) return null;
  const median = (values: readonly (number | null)[], format: (value: number) => string): string | null => {
    const value = quantile(
      values.filter((one) => one !== null),
      0.5,
    );
    return value === null ? null : format(value);
  };
  const joined = all.filter(({ why }) => why === null);
  const wait = median(
    joined.map(({ wait_ms }) => wait_ms),
    (value) => formatNs(value * 1e6),
  );
  const held = median(
    joined.map(({ kv_bytes }) => kv_bytes),
    formatBytes,
  );
  const reused = joined.reduce((sum, { reused_tokens }) => sum + (reused_tokens ?? 0), 0);
  const [reason, others] =
    [...Map.groupBy(all, ({ why }) => why)]
      .filter(([why]) => why !== null)
      .sort((a, b) => b[1].length - a[1].length)[0] ?? [];
  return [
    `of ${formatCount(all.length)} in traced runs ${formatCount(joined.length)} joined to the engine's steps`,
    ...(wait === null ? [] : [`waited p50 ${wait}`]),
    ...(held === null ? [] : [`KV p50 ${held}`]),
    ...(joined.length === 0 ? [] : [`${formatCount(reused)} tokens of prompts in its cache`]),
    ...(others === undefined ? [] : [`not joined: ${others.length} (${reason})`]),
  ].join("; ");
}
