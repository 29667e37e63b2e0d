/** Reads back from llama.cpp's own log what it decided, rather than what it was asked. */

export interface EngineFacts {
  /** Null until the engine has said it. */
  readonly flashAttention: boolean | null;
  /** "KV buffer size", to the hundredth of a MiB that the log prints. */
  readonly kvBufferBytes: number | null;
}

export const NO_FACTS: EngineFacts = { flashAttention: null, kvBufferBytes: null };

/**
 * What is known after one more line of the log.
 * "auto" is settled by a later line: `resolve_fused_ops: Flash Attention enabled` or `... not supported, set to disabled`.
 */
export function withLogLine(facts: EngineFacts, line: string): EngineFacts {
  const asked = /llama_context: flash_attn\s*= (enabled|disabled|auto)/.exec(line)?.[1];
  if (asked) return { ...facts, flashAttention: asked === "auto" ? null : asked === "enabled" };
  const settled = /Flash Attention (enabled|not supported, set to disabled)/.exec(line)?.[1];
  if (settled) return { ...facts, flashAttention: settled === "enabled" };
  const kvMebibytes = /KV buffer size =\s*([\d.]+) MiB/.exec(line)?.[1];
  if (kvMebibytes) return { ...facts, kvBufferBytes: Math.round(Number(kvMebibytes) * 2 ** 20) };
  return facts;
}
