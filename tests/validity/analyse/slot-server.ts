/** A server of several slots that decodes requests of random lengths, as the steps that its engine tells. */
import type { StepRow } from "../../../src/label/timeline/step-row.ts";
import { normalQuantile } from "../../../src/statistics/normal.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";

/** Tokens: lognormal around a median, or, with `pareto`, longer than x by a chance of x^-pareto. */
export interface Tokens {
  readonly median: number;
  readonly sigma?: number;
  readonly pareto?: number;
}

export interface SlotServer {
  readonly slots: number;
  /** What is new in a prompt, and its answer. */
  readonly prompt: Tokens;
  readonly answer: Tokens;
  /** Mean time between an answer and the next request of the slot. */
  readonly idle_ns: number;
  /** Share of a prompt that is what the slot holds already. */
  readonly shared: number;
  /** Tokens with which every prompt begins, which the slot keeps; none unless told. */
  readonly system?: number;
  /** Turns of a chat in the mean (geometric): each prompt begins with all that was said, which the slot keeps. One unless told. */
  readonly turns?: number;
  /** Share of each answer that the next prompt of the chat leaves out, as thoughts are, and that the slot gives up. */
  readonly left_out?: number;
}

interface Slot {
  length: number;
  prompt: number;
  answer: number;
  /** Tokens of the answer before, and whether the chat goes on. */
  said: number;
  goesOn: boolean;
  starts_ns: number;
}

const STEP_NS = 20e6;
const TOKEN_NS = 1e6;
const MOST = 4000;

/** Steps of `window_ns` of the server's time, as one sees them who comes when it has served for `before_ns`. */
export function serverSteps(server: SlotServer, before_ns: number, window_ns: number, seed: number): StepRow[] {
  const steps = allSteps(server, before_ns + window_ns, seed);
  const seen = steps.filter(({ begin_ns }) => before_ns === 0 || begin_ns >= before_ns);
  return seen.map((step) => ({ ...step, begin_ns: step.begin_ns - before_ns, end_ns: step.end_ns - before_ns }));
}

function allSteps(server: SlotServer, window_ns: number, seed: number): StepRow[] {
  const { system = 0, turns = 1, left_out = 0 } = server;
  const random = seededRandom(seed);
  const draw = ({ median, sigma = 0, pareto }: Tokens): number => {
    const p = Math.min(1 - 1e-9, Math.max(1e-9, random()));
    const times = pareto === undefined ? Math.exp(sigma * normalQuantile(p)) : (2 * (1 - p)) ** (-1 / pareto);
    return Math.max(1, Math.min(MOST, Math.round(median * times)));
  };
  const wait = (): number => -server.idle_ns * Math.log(1 - random());
  const slots: Slot[] = Array.from({ length: server.slots }, () => ({
    length: 0,
    prompt: 0,
    answer: 0,
    said: 0,
    goesOn: false,
    starts_ns: wait(),
  }));
  const blank = { pid: 7, engine: "engine", result: 0, n_tokens: null, n_sequences: null, position_first: null };
  const steps: StepRow[] = [{ ...blank, kind: "kv_clear", begin_ns: 0, end_ns: 0, sequence_id: null, detail: null }];
  for (let now = 0; now < window_ns; ) {
    const runs: [number, number, number][] = [];
    const finished: Slot[] = [];
    for (const [id, slot] of slots.entries()) {
      if (slot.answer === 0) {
        if (slot.starts_ns > now) continue;
        const asked = draw(server.prompt);
        const history = slot.length - Math.min(slot.length, Math.round(slot.said * left_out));
        const begin = slot.goesOn && history + asked < MOST ? history : system;
        slot.prompt = begin + asked;
        slot.answer = draw(server.answer);
        slot.said = slot.answer;
        slot.goesOn = turns > 1 && random() < 1 - 1 / turns;
        const kept = Math.min(slot.length, Math.max(begin, Math.floor(slot.prompt * server.shared)));
        const detail = JSON.stringify({ position_from: kept, position_to: -1 });
        steps.push({ ...blank, kind: "kv_trim", begin_ns: now, end_ns: now, sequence_id: id, detail });
        slot.length = kept;
      }
      const tokens = slot.prompt > slot.length ? slot.prompt - slot.length : 1;
      runs.push([id, slot.length, tokens]);
      slot.length += tokens;
      slot.answer -= 1;
      if (slot.answer === 0) finished.push(slot);
    }
    const n_tokens = runs.reduce((sum, [, , tokens]) => sum + tokens, 0);
    if (n_tokens === 0) {
      now = Math.min(window_ns, ...slots.map(({ starts_ns }) => starts_ns));
      continue;
    }
    const length = STEP_NS * (0.8 + 0.4 * random()) + TOKEN_NS * n_tokens;
    const detail = JSON.stringify({ kv_rows: runs });
    steps.push({
      ...blank,
      kind: "decode",
      begin_ns: now,
      end_ns: now + length,
      n_tokens,
      n_sequences: runs.length,
      sequence_id: null,
      detail,
    });
    now += length;
    for (const slot of finished) slot.starts_ns = now + wait();
  }
  return steps;
}
