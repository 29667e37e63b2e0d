/** Engines that are recognised by a library and have no names for their memory: what is known of that is in the files that they map. */

export interface SilentEngine {
  readonly name: string;
  /** Path of a library that only its programs map. */
  readonly library: RegExp;
  /** What is not known of it whatever was seen, what more where no weights were named, and what where no step was seen; of one without it, what `untoldOf` says. */
  readonly untold?: { readonly always: string; readonly unnamed: string; readonly unseen: string };
  /** The one that it is built on, of which nothing is said beside it unless a call of that was seen. */
  readonly builtOn?: string;
}

/** Of those that one process maps, the first is told. */
export const SILENT_ENGINES: readonly SilentEngine[] = [
  {
    name: "vLLM",
    builtOn: "PyTorch",
    library: /\/vllm\/_C\w{0,16}\.abi3\.so(?: \(deleted\))?$/,
    untold: {
      always: "activations are not identifiable without an agent",
      unnamed:
        ", nor are its weights: it copies them into memory of its own and packs them anew, and the objects of its program that name them were not found",
      unseen: ", and neither its weights nor its KV cache are known before a step was seen",
    },
  },
  { name: "PyTorch", library: /\/libtorch_cpu\.so(?:\.\d+){0,3}(?: \(deleted\))?$/ },
];

/** What nothing tells of their memory, and why. */
const UNKNOWN = "are not identifiable, as torch's allocator alone knows where they are and costs too much to probe";
export const UNTOLD = `KV cache and activations ${UNKNOWN}`;

/** The same of what had a cache that was told of. */
const UNTOLD_BESIDE_CACHE = `activations, and KV caches of other kinds, ${UNKNOWN}`;

/**
 * What is not known of one of them.
 * @param decodes whether one of its forward passes was seen
 * @param caches whether a cache of its was told of
 */
export function untoldOf(decodes: boolean, caches: boolean): string {
  if (caches) return UNTOLD_BESIDE_CACHE;
  return decodes ? UNTOLD : `${UNTOLD}, and no forward pass was seen that tells steps and tokens`;
}
