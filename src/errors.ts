/** The one error class: what failed and what was received, the exact fix, and the cause. */

/** Exit code of the process for each error code; documented in the README and stable. */
export const EXIT_CODES = {
  ok: 0,
  failure: 1,
  usage: 2,
  environment: 3,
  /** What was named cannot be read or is incomplete, or the figures do not tell whether a limit is kept. */
  data_quality: 4,
  /** A limit is not kept: what an arm may cost, or what a run may need. */
  budget: 5,
  target: 6,
  time_limit: 124,
  hangup: 129,
  interrupted: 130,
  terminated: 143,
} as const;

export type ErrorCode = Exclude<keyof typeof EXIT_CODES, "ok">;

/** Why the system refused something, in its words but without its code, call and path: `no such file or directory`. */
export function reasonText(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause);
  return text.replace(/^E[A-Z0-9]+: ([^,]+), \w+(?: '.*')?$/s, "$1");
}

/** An expected end of a command; a decoder counts bad input instead of throwing this. */
export class MrmTraceError extends Error {
  override readonly name = "MrmTraceError";
  /**
   * @param code which exit code ends the process
   * @param message what failed and what was received
   * @param hint the exact command or change that fixes it
   */
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly hint: string,
    options: { cause?: unknown } = {},
  ) {
    super(message, options);
  }

  get exitCode(): number {
    return EXIT_CODES[this.code];
  }
}
