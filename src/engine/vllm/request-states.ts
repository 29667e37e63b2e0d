/** The requests that vLLM's model runner has, as its Python objects say: their names and the blocks that each was given. */
import { type PythonClasses, type PythonObjects, pythonObjects } from "../cpython/objects.ts";
import type { ReadMemory } from "../engine.ts";
import type { FoundRunner } from "./runner-finder.ts";
import type { StepRequest } from "./step-blocks.ts";

export interface RequestStates {
  /** Names of all that it has, those too that have lost their blocks and wait. */
  readonly names: ReadonlySet<string>;
  /** The tokens of a request's prompt; null where it does not say. */
  promptTokens(name: string): number | null;
  /** False where a request is pooled, as for embeddings, so that it has no answer of tokens; null where it does not say. */
  generates(name: string): boolean | null;
  /** True where a request has the blocks of what a step worked on, one for one, and perhaps more behind them. */
  hasBlocks(name: string, step: StepRequest): boolean;
  /** True where it stands in front of the tokens that a step works on. */
  isAt(name: string, step: StepRequest): boolean;
  /** Whether full blocks are kept to be found by their prefix; null where it does not say. */
  keepsPrefixes(): boolean | null;
}

/** Another number is none of a request. */
const MOST_TOKENS = 2 ** 31;

function countOf(python: PythonObjects, object: bigint, name: string): number | null {
  const place = python.attribute(object, name);
  const number = place === null ? null : python.number(place);
  return number !== null && number < MOST_TOKENS ? number : null;
}

/** One look at them; null where the runner has no such objects, or they are changed this moment. */
export function requestStates(
  read: ReadMemory,
  { layout, runner }: FoundRunner,
  classes: PythonClasses,
): RequestStates | null {
  const python = pythonObjects(read, layout, classes);
  const dict = python.attribute(runner, "requests");
  const states = dict === null ? null : python.entries(dict);
  if (states === null) return null;
  const stateOf = (name: string): bigint => states.get(name) ?? 0n;
  const lists = new Map<string, readonly bigint[] | null>();

  /** Null for a model with several kinds of layers, which have a list each: nobody says whose the step's is. */
  function blocksOf(name: string): readonly bigint[] | null {
    const earlier = lists.get(name);
    if (earlier !== undefined) return earlier;
    const place = python.attribute(stateOf(name), "block_ids");
    const [list, ...others] = (place === null ? null : python.elements(place)) ?? [];
    const held = list === undefined || others.length > 0 ? null : python.elements(list);
    lists.set(name, held);
    return held;
  }

  return {
    names: new Set(states.keys()),
    promptTokens: (name) => countOf(python, stateOf(name), "num_prompt_tokens"),
    generates(name) {
      const pooling = python.attribute(stateOf(name), "pooling_params");
      const kind = pooling === null ? null : python.className(pooling);
      return kind === null ? null : kind === "NoneType";
    },
    hasBlocks(name, { blocks }) {
      const held = blocksOf(name);
      if (held === null || held.length < blocks.length) return false;
      // The last is the one that others are least likely to have.
      return blocks.every((_, i) => {
        const place = blocks.length - 1 - i;
        return python.number(held[place] ?? 0n) === blocks[place];
      });
    },
    isAt: (name, { length, tokens }) => countOf(python, stateOf(name), "num_computed_tokens") === length - tokens,
    keepsPrefixes() {
      const settings = python.attribute(runner, "cache_config");
      const keeps = settings === null ? null : countOf(python, settings, "enable_prefix_caching");
      return keeps === 0 || keeps === 1 ? keeps === 1 : null;
    },
  };
}
