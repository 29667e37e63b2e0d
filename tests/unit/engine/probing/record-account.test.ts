import { expect, test } from "bun:test";
import { recordAccount } from "../../../../src/engine/probing/record-account.ts";

const KERNEL = { hits: 10, stepped: 0, foreign: 0, unwanted: 0, ring_full: 3 };
const ATTACHED = { asked: 0, refused: 0, refusedBy: {}, unreadableObjects: 0, objectsWithoutFile: 0 };

test("a record that waits in the ring is lost where nobody comes for it, and not before that is known", () => {
  const account = recordAccount();
  for (let i = 0; i < 5; i++) account.count("kept");
  const lost = (isOver: boolean) => account.ledger(KERNEL, ATTACHED, isOver).find(({ stage }) => stage === "ring");
  expect(lost(false)).toMatchObject({ seen: 8, kept: 5, dropped: 3, dropped_by: { ring_full: 3 } });
  expect(lost(true)).toMatchObject({ seen: 10, kept: 5, dropped: 5, dropped_by: { ring_full: 3, not_drained: 2 } });
});
