import { expect, test } from "bun:test";
import { PROBE, tellsPlaces } from "../../../../src/engine/llama-cpp/probes.ts";
import { recordAccount } from "../../../../src/engine/probing/record-account.ts";
import { balances } from "../../../../src/schema/ledger.ts";
import { lostPct } from "../../../../src/schema/loss.ts";

const KERNEL = { hits: 10, stepped: 0, foreign: 0, unwanted: 0, ring_full: 3 };
const ATTACHED = { asked: 0, refused: 0, refusedBy: {}, unreadableObjects: 0, objectsWithoutFile: 0 };

test("a record that waits in the ring is lost where nobody comes for it, and not before that is known", () => {
  const account = recordAccount();
  for (let i = 0; i < 5; i++) account.count("kept");
  const lost = (isOver: boolean) => account.ledger(KERNEL, ATTACHED, isOver).find(({ stage }) => stage === "ring");
  expect(lost(false)).toMatchObject({ seen: 8, kept: 5, dropped: 3, dropped_by: { ring_full: 3 } });
  expect(lost(true)).toMatchObject({ seen: 10, kept: 5, dropped: 5, dropped_by: { ring_full: 3, not_drained: 2 } });
});

test("what turns out to be of calls that were under way is passed over, and was not kept", () => {
  const account = recordAccount();
  for (let i = 0; i < 7; i++) account.count("kept");
  account.recountUnderWay(2);
  const ledger = account.ledger({ ...KERNEL, hits: 7, ring_full: 0 }, ATTACHED, true);
  expect(ledger.find(({ stage }) => stage === "decode")).toMatchObject({ seen: 7, kept: 5, filtered: 2, dropped: 0 });
});

test("a tensor of which the place could not be read leaves the steps whole, and a batch that could not be read the places not", () => {
  const lossWith = (isPlace: boolean): (number | null)[] => {
    const account = recordAccount();
    for (let i = 0; i < 6; i++) account.count("kept", i % 2 === 0);
    account.count("unreadable", isPlace);
    const ledger = account.ledger({ ...KERNEL, hits: 7, ring_full: 0 }, ATTACHED, true);
    expect(ledger.filter(({ stage }) => stage === "decode").every(balances)).toBe(true);
    return ["step", "region_map"].map((source) => lostPct(ledger, source));
  };
  const [steps, places] = lossWith(true);
  expect(steps).toBe(0);
  expect(places).toBeGreaterThan(0);
  expect(lossWith(false).every((pct) => pct !== null && pct > 0)).toBe(true);
});

test("of the calls of llama.cpp those that place tensors tell nothing of steps", () => {
  expect(tellsPlaces(PROBE.tensor_alloc)).toBe(true);
  for (const probe of [PROBE.decode, PROBE.go_forward, PROBE.graph_compute, PROBE.buffer_clear, PROBE.model_load]) {
    expect(tellsPlaces(probe)).toBe(false);
  }
});
