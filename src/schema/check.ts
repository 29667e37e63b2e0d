/** One line of the examination. */
import type { Check, CheckStatus } from "./examination.ts";

export interface CheckDetails {
  /** The command or change that fixes it. */
  readonly fix?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

export function check(name: string, status: CheckStatus, summary: string, { fix, data }: CheckDetails = {}): Check {
  return { name, status, summary, fix: fix ?? null, data: data ?? {} };
}
