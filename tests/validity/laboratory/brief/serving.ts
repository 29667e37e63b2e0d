/** A server of requests: each is prefilled in a step of its own, then decoded with the others. */
import type { Random } from "../../../../src/statistics/prng.ts";
import type { Step } from "../served/parts.ts";
import { exponential, MS, SECOND } from "../shapes.ts";
import { decode, prefill } from "./steps.ts";

export interface Request {
  readonly id: number;
  /** Tokens. */
  readonly prompt: number;
  /** Tokens. */
  readonly answer: number;
  /** Its prefill, then the step of each token of its answer. */
  readonly steps: Step[];
  /** ns */
  begin: number;
  /** ns; after the run where it is not done by then. */
  freed: number;
}

interface Service {
  readonly run: number;
  /** Requests that come in a second. */
  readonly rate: number;
  /** Requests that are worked on at once. */
  readonly most: number;
  /** Tokens of a prompt. */
  readonly prompt: () => number;
  /** Tokens of an answer. */
  readonly answer: () => number;
  /** How long the prefill of so many tokens takes, ns. */
  readonly prefill: (tokens: number) => number;
  /** How long a step of so many requests takes, ns. */
  readonly decode: (requests: number) => number;
  /** Time after a step, ns. */
  readonly gap?: () => number;
}

/** The steps of a server from some seconds before the run on, and what it worked on. */
export function serve(
  random: Random,
  { run, rate, most, gap = () => 0.1 * MS, ...service }: Service,
): { readonly steps: readonly Step[]; readonly requests: readonly Request[] } {
  const steps: Step[] = [];
  const requests: Request[] = [];
  const queue: Request[] = [];
  let active: Request[] = [];
  let now = -random() * 3 * SECOND - 2 * SECOND;
  let arrival = now;
  for (let id = 0; now < run; ) {
    for (; arrival <= now; arrival += (SECOND / rate) * exponential(random)) {
      const answer = Math.max(2, service.answer());
      const freed = Number.POSITIVE_INFINITY;
      queue.push({ id: id++, prompt: service.prompt(), answer, steps: [], begin: arrival, freed });
    }
    const next = active.length < most ? queue.shift() : undefined;
    if (next !== undefined) {
      const step = prefill(now, now + service.prefill(next.prompt), next.prompt);
      next.begin = now;
      next.steps.push(step);
      requests.push(next);
      active.push(next);
      steps.push(step);
      now = step.end_ns + gap();
    } else if (active.length > 0) {
      const step = decode(now, now + service.decode(active.length), active.length);
      for (const request of active) {
        request.steps.push(step);
        if (request.steps.length > request.answer) request.freed = step.end_ns;
      }
      active = active.filter(({ freed }) => freed > step.end_ns);
      steps.push(step);
      now = step.end_ns + gap();
    } else now = arrival;
  }
  for (const request of active) request.freed = Math.max(now, run) + SECOND;
  return { steps, requests };
}
