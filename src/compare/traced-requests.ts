/** The requests of our clients in a traced run of a server: their times, and what the engine's steps in the recording say of each. */
import { join } from "node:path";
import { figuresOfRequests } from "../analyse/requests/derive-requests.ts";
import { type RequestFigure, requestFigure } from "../analyse/requests/request-figures.ts";
import type { RequestRow } from "../analyse/requests/sequence-batches.ts";
import { answerNumbers, requestRow } from "../client/request-row.ts";
import type { StreamedTokens } from "../client/token-stream.ts";
import { MrmTraceError } from "../errors.ts";
import { labelRun } from "../label/label-run.ts";
import type { RequestOfRun } from "../schema/observer-effect.ts";
import { openDatabase } from "../sql/database.ts";

/** An answer as the stream `request` has it; its server is that of the run, whatever its number. */
function rowOf(answer: StreamedTokens, request_id: number): RequestRow {
  const { sent_ns, first_token_ns, last_token_ns, end_ns, name: request } = answer;
  return requestRow(0, {
    ...{ request_id, request, status: "answered", http_status: 200 },
    ...{ sent_ns, first_token_ns, last_token_ns, end_ns },
    ...answerNumbers(answer),
  });
}

const ms = (ns: bigint | null): number | null => (ns === null ? null : Number(ns) / 1e6);
const plain = (bytes: bigint | null): number | null => (bytes === null ? null : Number(bytes));

function requestOfRun(client: number, figure: RequestFigure): RequestOfRun {
  const { request, prompt_tokens, reused_tokens, output_tokens, sequence_id, why } = figure;
  return {
    client,
    request,
    ttft_ms: ms(figure.ttft_ns),
    token_p50_ms: ms(figure.token_gap_p50_ns),
    token_p99_ms: ms(figure.token_gap_p99_ns),
    wait_ms: ms(figure.wait_ns),
    ...{ prompt_tokens, reused_tokens, output_tokens, sequence_id },
    kv_bytes: plain(figure.kv_bytes),
    saved_bytes: plain(figure.saved_bytes),
    why,
  };
}

/**
 * The requests of each client in the order in which it asked. Where the recording cannot be labelled they have the client's times
 * alone, and the reason.
 * @param clients the answers of each
 * @param runDir of the recording, which has ended; what labels are is written there
 */
export async function tracedRequests(
  clients: readonly (readonly StreamedTokens[])[],
  runDir: string,
  runId: string,
): Promise<RequestOfRun[]> {
  const asked = clients.flatMap((answers, client) => answers.map((answer) => ({ client, answer })));
  const rows = asked.map(({ answer }, i) => rowOf(answer, i + 1));
  const tell = (figures: readonly RequestFigure[]): RequestOfRun[] =>
    asked.flatMap(({ client }, i) => {
      const figure = figures[i];
      return figure === undefined ? [] : [requestOfRun(client, figure)];
    });
  try {
    await using database = await openDatabase({ spillFolder: join(runDir, ".spill.unfinished") });
    return tell(figuresOfRequests(rows, await labelRun(database, runDir, runId)));
  } catch (error) {
    if (!(error instanceof MrmTraceError)) throw error;
    const why = `the recording could not be labelled: ${error.message}`;
    return tell(rows.map((row) => ({ ...requestFigure(row, null, 0n, null), why })));
  }
}
