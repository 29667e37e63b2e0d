/** A graph of work that each step builds, goes through and frees, beside queues that are polled. */
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { between } from "../served/parts.ts";
import { exponential, type Hit, MS, SECOND } from "../shapes.ts";
import { load, perWord, store } from "./accesses.ts";
import { heapOver } from "./heap.ts";
import { inStep, stepsOver } from "./steps.ts";

const NODES = 16;

export const stepGraphs: WorldKind = {
  name: "a graph built in the first tenth of each step of 3 to 18 ms and freed at its end, beside queues that are polled, 12 s",
  make: (random) => {
    const run = 12 * SECOND;
    const heap = heapOver(run);
    let pace = 5;
    const steps = stepsOver(run, random, {
      isPrefill: (i) => i % 60 === 0,
      tokens: (i) => (i % 60 === 0 ? 50 : 1),
      length: (i) => {
        if (random() < 0.01) pace = between(random, 3, 14);
        return (i % 60 === 0 ? 40 : pace * between(random, 0.9, 1.3)) * MS;
      },
      gap: () => (random() < 0.02 ? 80 * exponential(random) : 0.2) * MS,
    });
    for (const step of steps) {
      const nodes = perWord(NODES, (node) => {
        const turn = (0.85 * node) / NODES;
        const hits = [store(inStep(step, 0.01 + (0.08 * node) / NODES)), load(inStep(step, 0.1 + turn))];
        return node % 4 === 0 ? [...hits, load(inStep(step, 0.12 + turn)), store(inStep(step, 0.97))] : hits;
      });
      heap.lives("runtime", "graph", [step.begin_ns, step.end_ns], nodes);
    }
    const queues = perWord(12, () => {
      const polls: Hit[] = [];
      for (let time = 0; time < run; time += 6 * MS * (0.5 + random()))
        polls.push(random() < 0.1 ? store(time) : load(time));
      return polls;
    });
    heap.stays("runtime", "queues", queues);
    const tables = perWord(80, (word) =>
      steps.flatMap((step) => (random() < 0.15 ? [load(inStep(step, 0.2 + 0.005 * word))] : [])),
    );
    heap.stays("runtime", "tables", tables);
    return heap.world(steps);
  },
};
