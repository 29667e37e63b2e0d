/** Which tables of embeddings are of tokens, by the names of parameters that models have in transformers. */
import type { NameAt } from "../engine.ts";

/** `unnamed` where no file names the table, or its name says neither. */
export type TableRole = "tokens" | "others" | "unnamed";

const TOKENS =
  /(?:^|[._])(?:embed_tokens|wte|word_embeddings?|tok_embeddings|token_embeddings?|tokens_embed|token_emb|embed_in|shared)\.weight$/;
const OTHERS = /posit|(?:^|\.)(?:wpe|embed_pos)\.|type_embed|segment|relative|rotary|_bias\./;
/** A file may be looked at a moment later than the first pass: so often it is asked. */
const ASKED = 64;
const TABLES = 4096;

/** The role that the name of a parameter tells. */
export function roleByName(name: string): TableRole {
  if (TOKENS.test(name)) return "tokens";
  return OTHERS.test(name) ? "others" : "unnamed";
}

/** None known yet. */
export function tokenTables(nameAt: NameAt): {
  /** @param key changes with the table at an address */
  roleOf(pid: number, key: string, addr: bigint): TableRole;
} {
  const roles = new Map<string, { role: TableRole; left: number }>();
  return {
    roleOf(pid, key, addr) {
      if (roles.size >= TABLES) roles.clear();
      const table = roles.get(key) ?? { role: "unnamed", left: ASKED };
      roles.set(key, table);
      if (table.left === 0) return table.role;
      const name = nameAt(pid, addr)?.name ?? null;
      table.left = name === null ? table.left - 1 : 0;
      if (name !== null) table.role = roleByName(name);
      return table.role;
    },
  };
}
