/** What an engine told of its passes: which experts they read, and what they allocate while they compute. */
import type { RunReport } from "../schema/run-json.ts";
import { formatBytes, formatCounted, formatNs } from "../units.ts";

/** "2 of 8 for a token"; null for a model without experts. */
export function expertsText({ engine }: RunReport): string | null {
  const layers = (engine?.experts ?? []).filter(({ tokens, reads }) => tokens > 0 && reads.length > 0);
  if (layers.length === 0) return null;
  const ends = (values: readonly number[], text = (value: number) => `${value}`): string => {
    const [least, most] = [Math.min(...values), Math.max(...values)].map(text);
    return least === most ? `${least}` : `${least} to ${most}`;
  };
  const shares = layers.flatMap(({ tokens, reads }) => reads.map((count) => (100 * count) / tokens));
  const chosen = layers.map(({ tokens, reads }) => Math.round(reads.reduce((sum, count) => sum + count, 0) / tokens));
  const chosenText = `${ends(chosen)} of ${ends(layers.map(({ reads }) => reads.length))} for a token`;
  const seen = `${ends(layers.map(({ tokens }) => tokens))} tokens seen in ${formatCounted(layers.length, "layer")}`;
  const sizes = layers.flatMap(({ expert_bytes }) => expert_bytes ?? []);
  const sizeText = sizes.length === 0 ? [] : [`${ends(sizes, formatBytes)} each`];
  const untold = Math.max(...layers.map(({ untold_tokens = 0 }) => untold_tokens));
  const untoldText = untold === 0 ? [] : [`${untold} more of which they are not known`];
  const never = shares.filter((share) => share === 0).length;
  const share = `each by ${ends(shares, (value) => `${Number(value.toPrecision(3))}`)} % of them`;
  const neverText = never === 0 ? [] : [`${never} of ${shares.length} never`];
  return [chosenText, ...sizeText, seen, ...untoldText, share, ...neverText].join(", ");
}

/** "211 blocks of 1.86 MiB in a pass"; null where nobody looked at what passes allocate. */
export function activationsText({ engine }: RunReport): string | null {
  if (engine?.activations === undefined) return null;
  const { passes, allocations_per_pass, bytes_per_pass, most_bytes, kept_p50_ns, kept_p99_ns } = engine.activations;
  const kept = [
    ...(kept_p50_ns === null ? [] : [`half of the bytes for ${formatNs(kept_p50_ns)} at most`]),
    ...(kept_p99_ns === null ? [] : [`99 % for ${formatNs(kept_p99_ns)}`]),
  ];
  return [
    `${formatCounted(Math.round(allocations_per_pass), "block")} of ${formatBytes(bytes_per_pass)} in a pass`,
    `${formatBytes(most_bytes)} at once at most`,
    ...(kept.length === 0 ? [] : [`kept ${kept.join(", ")}`]),
    `${formatCounted(passes, "pass")} seen`,
  ].join(", ");
}
