/** A block of requests to a server: so many clients at once, each of which asks the same again and again until the time is over. */
import { type StreamedTokens, streamTokens, type TokenRequest } from "../client/token-stream.ts";
import { monotonicNs } from "../kernel/libc.ts";

export interface ServedBlock {
  /** Answers of each client, in the order in which it asked. */
  readonly clients: readonly (readonly StreamedTokens[])[];
  /** ns of CLOCK_MONOTONIC, between which every client had a request under way. */
  readonly began_ns: bigint;
  readonly over_ns: bigint;
}

export interface Load {
  readonly block_ns: number;
  /** Requests under way at once. */
  readonly clients: number;
}

/**
 * Each client asks once to warm the server up, then all of them ask until the time is over. What is under way by then comes to its end.
 * @throws as streamTokens does for the first request that fails, which ends the others
 */
export async function serveBlock(request: TokenRequest, { block_ns, clients }: Load): Promise<ServedBlock> {
  const failed = new AbortController();
  const asked = { ...request, signal: AbortSignal.any([request.signal, failed.signal]) };
  const together = <T>(client: () => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: clients }, client)).catch((error) => {
      failed.abort();
      throw error;
    });
  await together(() => streamTokens(asked));
  const began_ns = monotonicNs();
  const over_ns = began_ns + BigInt(Math.round(block_ns));
  const answers = await together(async () => {
    const received: StreamedTokens[] = [];
    while (monotonicNs() < over_ns) received.push(await streamTokens(asked));
    return received;
  });
  return { clients: answers, began_ns, over_ns };
}
