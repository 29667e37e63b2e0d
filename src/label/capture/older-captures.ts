/** What captures left out that were made when one engine was known: its name, and how it keeps its cache. */
import { COLUMNS, type KvLayout, ROWS, UNKNOWN_LAYOUT } from "../../regions/kv-layout.ts";
import type { TensorLifetime } from "../../regions/tensor-map.ts";
import { detailOf } from "../../schema/step-detail.ts";
import type { StepRow } from "../timeline/step-row.ts";

/** The engine that was known when captures did not name it. */
const ONLY_ENGINE = "llama.cpp";

/** What the last graph said of flash attention; null when no graph did. */
function flashAttentionOf(steps: readonly StepRow[]): boolean | null {
  for (const step of steps.toReversed()) {
    const value = step.kind === "graph" ? detailOf(step).flash_attention : null;
    if (typeof value === "boolean") return value;
  }
  return null;
}

/** Its V lies in columns without flash attention. */
function layoutOf({ name, logical_id }: TensorLifetime, flash: boolean | null): KvLayout {
  const isV = logical_id?.endsWith(".v") ?? name?.startsWith("cache_v") ?? false;
  if (!isV || flash === true) return ROWS;
  return flash === null ? UNKNOWN_LAYOUT : COLUMNS;
}

/** The cache tensors with the layout that such a capture tells by its graphs; others as they are. */
export function withOlderLayouts(lives: readonly TensorLifetime[], steps: readonly StepRow[]): TensorLifetime[] {
  const flash = flashAttentionOf(steps);
  return lives.map((life) => {
    const isOlder = life.engine === null && life.region_type === "kv_cache" && life.kv_layout === null;
    return isOlder ? { ...life, kv_layout: layoutOf(life, flash) } : life;
  });
}

/** Name and settings of the engine where a step does not name it. */
export function olderEngine(steps: readonly StepRow[]): {
  readonly name: string;
  readonly settings: Readonly<Record<string, unknown>>;
} {
  return {
    name: ONLY_ENGINE,
    settings: { flash_attention: flashAttentionOf(steps.filter(({ engine }) => engine === null)) },
  };
}
