/** Engines that are recognised by a library and tell nothing of themselves: what is known of them is in the files that they map. */

export interface SilentEngine {
  readonly name: string;
  /** Path of a library that only its programs map. */
  readonly library: RegExp;
}

export const SILENT_ENGINES: readonly SilentEngine[] = [
  { name: "PyTorch", library: /\/libtorch_cpu\.so(?:\.\d+){0,3}(?: \(deleted\))?$/ },
];

/** What no probe and no file tells of them. */
export const UNTOLD = "KV cache, activations, steps and tokens are not identifiable without an agent";
