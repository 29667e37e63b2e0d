/** Batches whose size goes with the load. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { exponential, loads, MS, SECOND, traces, words } from "../shapes.ts";
import { between, inside, part, type Step, table, US, whole, world } from "./parts.ts";

export const batches: WorldKind = {
  name: "batches of 0 to 32 by calm and rush, longer steps with more, 0.2 ms still at an arming",
  make: (random) => {
    const run = 22 * SECOND;
    const [slots, rowsOfSlot, wide] = [32, 20, 6];
    const caches = table(slots * rowsOfSlot);
    const rowsOfBatch = table(slots * wide);
    const scheduler = table(20);
    const steps: Step[] = [];
    const weightSteps: (readonly [number, number])[] = [];
    const active: ({ age: number; until: number } | null)[] = Array.from({ length: slots }, () => null);
    let isRush = random() < 0.5;
    let turn = 3 * SECOND * exponential(random);
    const gap = (): number => (SECOND / (isRush ? 9 : 1.2)) * exponential(random);
    let arrival = gap();
    for (let now = 0; now < run; ) {
      if (now > turn) {
        isRush = !isRush;
        turn = now + 3 * SECOND * exponential(random);
        arrival = now + gap();
      }
      for (; arrival < now; arrival += gap()) {
        const slot = active.indexOf(null);
        if (slot < 0) continue;
        active[slot] = { age: 0, until: 5 + Math.floor(55 * exponential(random)) };
        const span = between(random, 12, 50) * MS;
        steps.push({ step: "prefill", begin_ns: now, end_ns: now + span, n_tokens: 20 + whole(random, 300) });
        weightSteps.push([now, span]);
        for (let r = 0; r < 5; r++) caches[slot * rowsOfSlot + r]?.push([now + span * (0.5 + 0.05 * r), OP.store]);
        now += span + 0.1 * MS;
      }
      const size = active.filter((request) => request !== null).length;
      scheduler.forEach((hits, w) => {
        hits.push([now + w * 2 * US, size === 0 || w % 3 > 0 ? OP.load : OP.load_store]);
      });
      if (size === 0) {
        now += 2 * MS;
        continue;
      }
      const span = (6 + 0.9 * size) * MS * between(random, 0.97, 1.03);
      steps.push({ step: "decode", begin_ns: now, end_ns: now + span, n_tokens: size });
      weightSteps.push([now, span]);
      let rank = 0;
      active.forEach((request, slot) => {
        if (request === null) return;
        for (let w = 0; w < wide; w++) {
          const moment = now + span * (0.1 + 0.13 * w) + rank * 2 * US;
          rowsOfBatch[rank * wide + w]?.push([moment, OP.store], [moment + 0.3 * MS, OP.load]);
        }
        rank += 1;
        const row = Math.min(rowsOfSlot - 1, 5 + Math.floor(request.age / 8));
        caches[slot * rowsOfSlot + row]?.push([now + 0.3 * span, OP.store]);
        for (let r = 0; r <= row; r++)
          caches[slot * rowsOfSlot + r]?.push([now + 0.4 * span + (slot + r) * 3 * US, OP.load]);
        request.age += 1;
        if (request.age >= request.until) active[slot] = null;
      });
      now += span + 0.1 * MS;
    }
    const weights = words(() => {
      const place = random();
      return loads(
        weightSteps.map(([begin, span]) => begin + place * span),
        run,
      );
    }, 200);
    return world(
      run,
      [
        part("weight", "all", weights, { repeats: 500 }),
        part("kv_cache", "slots", traces(caches, run), { repeats: 30 }),
        part("activation", "batch", traces(rowsOfBatch, run)),
        part("runtime", "scheduler", traces(scheduler, run)),
      ],
      { steps: inside(steps, run), token_period_ns: 12 * MS, standstill_ns: 0.2 * MS },
    );
  },
};
