/**
 * Whose request each sequence of ours is, by vLLM's own name for it: the requests of its model runner are read now and then while
 * one of the sequences has no name, and while it is not known whether one that stopped has ended. The engine goes on while it is
 * read: a request is believed to be a sequence's that has its blocks, where it stands in front of the tokens of the sequence's last
 * step too, or where the sequence goes on in a step that began later, so that these blocks were its own all the time.
 */
import type { RequestStates } from "./request-states.ts";
import type { StepRequest } from "./step-blocks.ts";

/** What became known of a sequence. */
export interface SequenceOwner {
  readonly sequence: number;
  readonly request: string;
  /** Null where it is not known, or was told before. */
  readonly prompt_tokens: number | null;
  /** Missing where it has an answer, or it is not known, or was told before. */
  readonly generates?: false;
  /** True where the runner has that request no more. */
  readonly is_gone: boolean;
}

export interface SequenceOwners {
  /** A step that began at a time worked on these: their sequences, and what each has. */
  note(begin_ns: bigint, sequences: readonly number[], requests: readonly StepRequest[]): void;
  /** True where a position is known to be of the prompt of a sequence's request. */
  isAtPrompt(sequence: number, position: number): boolean;
  /** What another look may tell: names of sequences, or only which of those that stopped have ended; null for nothing. */
  asks(): "names" | "ends" | null;
  /** What a look that ended by now found; null where the requests could not be read. */
  take(states: RequestStates | null, now_ns: bigint): void;
  /** What became known since it was asked last. */
  told(): SequenceOwner[];
  /** Sequences that stopped before they had a name. */
  readonly unnamed: number;
  /** True where so many looks found no name at all that nothing is asked any more. */
  isHopeless(): boolean;
}

/** What a look says of a request. */
interface Asked extends Pick<SequenceOwner, "prompt_tokens" | "generates"> {
  readonly name: string;
}

function asked(states: RequestStates, name: string): Asked {
  const isPooled = states.generates(name) === false;
  return { name, prompt_tokens: states.promptTokens(name), ...(isPooled ? { generates: false } : {}) };
}

interface Followed {
  last: StepRequest;
  isRunning: boolean;
  name: string | null;
  /** Of its request; null where that, or its prompt, is not known. */
  prompt_tokens: number | null;
  /** Who had its blocks at a time. */
  candidate: (Asked & { readonly looked_ns: bigint }) | null;
  /** Looks that did not find its name. */
  tries: number;
}

/** So often a sequence that runs is looked for. */
const MOST_TRIES = 256;
/** So often one that stopped is: its name stays until the next step, and what stopped for good gets none. */
const TRIES_BEHIND = 2;

/** So many looks without one name, and there is none to be found: the engine keeps its blocks in another way. */
const HOPELESS_LOOKS = 256;

/** Of no sequence yet. */
export function sequenceOwners(): SequenceOwners {
  const followed = new Map<number, Followed>();
  const unnamed = new Set<number>();
  /** Looks before the first name; null once there was one. */
  let vainLooks: number | null = 0;
  const isHopeless = (): boolean => vainLooks !== null && vainLooks >= HOPELESS_LOOKS;

  let found: SequenceOwner[] = [];

  function call(sequence: number, one: Followed, { name, prompt_tokens, generates }: Asked): void {
    vainLooks = null;
    one.name = name;
    one.prompt_tokens = prompt_tokens;
    one.candidate = null;
    unnamed.delete(sequence);
    const answer = generates === undefined ? {} : { generates };
    found.push({ sequence, request: name, prompt_tokens, ...answer, is_gone: false });
  }

  function look(sequence: number, one: Followed, states: RequestStates, looked_ns: bigint): void {
    const fitting = [...states.names].filter((name) => states.hasBlocks(name, one.last));
    const [name] = fitting;
    if (name !== undefined && fitting.length === 1) {
      const request = asked(states, name);
      if (states.isAt(name, one.last)) {
        call(sequence, one, request);
        return;
      }
      one.candidate = { ...request, looked_ns };
    }
    one.tries += 1;
    if (one.isRunning || one.tries < TRIES_BEHIND) return;
    followed.delete(sequence);
    unnamed.add(sequence);
  }

  function takeEach(states: RequestStates, now_ns: bigint): void {
    for (const [sequence, one] of followed) {
      if (one.name === null) look(sequence, one, states, now_ns);
      else if (!one.isRunning && !states.names.has(one.name)) {
        followed.delete(sequence);
        found.push({ sequence, request: one.name, prompt_tokens: null, is_gone: true });
      }
    }
  }

  return {
    note(begin_ns, sequences, requests) {
      if (isHopeless()) return;
      for (const one of followed.values()) one.isRunning = false;
      for (const [i, sequence] of sequences.entries()) {
        const last = requests[i];
        if (last === undefined) continue;
        const one = followed.get(sequence);
        if (one === undefined) {
          followed.set(sequence, { last, isRunning: true, name: null, prompt_tokens: null, candidate: null, tries: 0 });
          continue;
        }
        Object.assign(one, { last, isRunning: true });
        const { candidate } = one;
        if (candidate !== null && begin_ns > candidate.looked_ns) call(sequence, one, candidate);
      }
    },
    isAtPrompt: (sequence, position) => position < (followed.get(sequence)?.prompt_tokens ?? 0),
    asks() {
      if (followed.values().some(({ name, tries }) => name === null && tries < MOST_TRIES)) return "names";
      return followed.values().some(({ name, isRunning }) => name !== null && !isRunning) ? "ends" : null;
    },
    take(states, now_ns) {
      if (states !== null) takeEach(states, now_ns);
      if (vainLooks !== null) vainLooks += 1;
      if (isHopeless()) followed.clear();
    },
    told() {
      const those = found;
      found = [];
      return those;
    },
    isHopeless,
    get unnamed() {
      // What stopped since the last look may be asked for still, unless the recording ends before that.
      const waiting = [...followed].filter(([, { name, isRunning }]) => name === null && !isRunning);
      return unnamed.size + waiting.filter(([sequence]) => !unnamed.has(sequence)).length;
    },
  };
}
