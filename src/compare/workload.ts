/** What an arm runs: one unit is a process from its start to its end, with figures of its own. */
import type { StreamedTokens } from "../client/token-stream.ts";
import type { ClientOfRun, FigureValues, ObserverEffect, RunTokens } from "../schema/observer-effect.ts";

export interface Unit {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Gives the process its work and resolves when it may end; null where it ends by itself. */
  readonly drive: ((signal: AbortSignal) => Promise<void>) | null;
  /** What the unit tells of itself once it has ended. @throws MrmTraceError target, where it told nothing */
  figures(): Partial<FigureValues>;
  /** Tokens as our client and as the engine counted them, where there is a client. */
  tokens?(): RunTokens;
  /** What each of our clients saw, where there are some. */
  clients?(): readonly ClientOfRun[];
  /** The answers of each of them, where there are some. */
  answers?(): readonly (readonly StreamedTokens[])[];
}

export interface Workload {
  readonly kind: ObserverEffect["workload"]["kind"];
  /** As a person would type it. */
  readonly command: readonly string[];
  /** What the clients of a server ask; missing for what has none. */
  readonly load?: NonNullable<ObserverEffect["workload"]["load"]>;
  /** Threads that the engine is told to use; null where the command does not say. */
  readonly engineThreads: number | null;
  /** From which the name of the result is made. */
  readonly modelName: string;
  /** The next unit, with a port or file of its own where it needs one. */
  next(): Promise<Unit>;
}
