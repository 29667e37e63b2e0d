/** Which tokens a step works on, by sequence and position. */
import { collectGrown } from "../../columnar/collect-after.ts";
import { detailOf } from "../../schema/step-detail.ts";
import type { StepRow } from "../timeline/step-row.ts";
import type { RowRun } from "./positions.ts";

/** The details of hundreds of thousands of steps are read again for each question, and what that leaves behind is collected. */
const COLLECT_AFTER_BYTES = 64 * 2 ** 20;
/** Steps from one look at what is left behind to the next. */
const LOOK_AFTER = 1 << 12;

const read = collectGrown(COLLECT_AFTER_BYTES, LOOK_AFTER);

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);

/** The runs in the detail of a batch; null where they are none, or not all of its tokens. */
function listedRuns(rows: unknown, n_tokens: number): RowRun[] | null {
  if (!Array.isArray(rows)) return null;
  const runs: RowRun[] = [];
  let held = 0;
  for (const row of rows) {
    if (!Array.isArray(row) || row.length !== 3) return null;
    const [named, position, tokens] = row;
    const sequences: unknown[] = Array.isArray(named) ? named : [named];
    if (!sequences.every(isWhole) || sequences.length === 0) return null;
    if (!isWhole(position) || !isWhole(tokens) || position < 0 || tokens < 1) return null;
    held += tokens;
    if (held > n_tokens) return null;
    runs.push({ sequences, position, tokens });
  }
  return held === n_tokens ? runs : null;
}

/** The tokens of a batch by sequence and position; null where the engine does not tell them all. */
export function runsOf(step: StepRow): RowRun[] | null {
  const { n_tokens, n_sequences, position_first, sequence_id } = step;
  read();
  const listed = listedRuns(detailOf(step).kv_rows, n_tokens ?? 0);
  if (listed !== null) return listed;
  if ((n_sequences ?? 1) > 1 || position_first === null || n_tokens === null) return null;
  return [{ sequences: [sequence_id ?? 0], position: position_first, tokens: n_tokens }];
}
