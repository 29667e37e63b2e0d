/** Which layers of a model look back over a window, and how far, where the header of its file and its architecture make that certain. */

export interface WindowLayers {
  /** A token at position p is needed by those up to p + window_tokens - 1. */
  readonly window_tokens: number;
  readonly window_layers: readonly number[];
}

/** How llama.cpp takes an architecture (`load_hparams` of it), whose windows are all of the type LLAMA_SWA_TYPE_STANDARD. */
interface Windows {
  /** Of so many layers one looks back over all: the last, or the first. */
  readonly period: number;
  readonly isFullFirst?: true;
  /** Tokens of the window where the header has none; without them such a model has no window. */
  readonly unsaid?: number;
  /** The header is not asked for the window, which is this. */
  readonly always?: number;
  /** Only a model of so many layers has a window. */
  readonly layers?: number;
}

/**
 * Others have windows too and are left out: those of llama 4 end where a block of tokens does, those of encoders reach to both
 * sides, and gemma3n keeps no rows for its last layers.
 */
const ARCHITECTURES: ReadonlyMap<string, Windows> = new Map([
  ["afmoe", { period: 4 }],
  ["cohere2", { period: 4 }],
  ["exaone4", { period: 4, unsaid: 4096, layers: 64 }],
  ["gemma2", { period: 2, unsaid: 4096 }],
  ["gemma3", { period: 6 }],
  ["gpt-oss", { period: 2 }],
  ["olmo2", { period: 4 }],
  ["smallthinker", { period: 4, isFullFirst: true, always: 4096 }],
]);
const MOST_LAYERS = 1024;
/** Has windows of tokens whether its header says so or not. */
const ALWAYS = "llama4";
/** Has windows by its header, which llama.cpp passes over. */
const NEVER = "phi3";

/** What a header says of windows: undefined where it does not, null where it lists layers one by one, which is not read. */
interface WindowHeader {
  readonly layers: number | null;
  readonly window: number | null | undefined;
  /** Of so many layers one looks back over all. */
  readonly period: number | null | undefined;
}

/** @returns null where it is not certain */
export function windowLayers(architecture: string | null, header: WindowHeader): WindowLayers | null {
  const windows = ARCHITECTURES.get(architecture ?? "");
  const { layers, window } = header;
  if (windows === undefined || layers === null || layers > MOST_LAYERS) return null;
  if (window === null || header.period === null) return null;
  if (windows.layers !== undefined && windows.layers !== layers) return null;
  if (windows.always !== undefined && window !== windows.always) return null;
  const window_tokens = window ?? windows.unsaid ?? 0;
  const period = header.period ?? windows.period;
  if (window_tokens <= 0 || period < 2) return null;
  const full = windows.isFullFirst ? 0 : period - 1;
  const window_layers = Array.from({ length: layers }, (_, layer) => layer).filter((layer) => layer % period !== full);
  return { window_tokens, window_layers };
}

/** True where some layers may look back over a window of which it is not certain how far, or which they are. */
export function mayHaveWindows(architecture: string | null, header: WindowHeader): boolean {
  const { layers, window, period } = header;
  if (windowLayers(architecture, header) !== null || architecture === NEVER) return false;
  const only = ARCHITECTURES.get(architecture ?? "")?.layers;
  if (only !== undefined && layers !== null && layers !== only) return false;
  const isSaid = window === undefined ? architecture === ALWAYS : window !== 0;
  return isSaid && (period === undefined || period === null || period > 1);
}
