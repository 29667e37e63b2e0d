/** What the process of our client is told, and what it tells: a JSON object a line each. */
import { z } from "zod";
import { SERVER_APIS } from "../config/schema.ts";
import { REQUEST_STATUSES, type RequestStatus } from "../schema/words.ts";
import { MOST_NAME_CHARS } from "./dialects.ts";
import { givenModelSchema } from "./given-model.ts";

const STATUSES = Object.keys(REQUEST_STATUSES) as [RequestStatus, ...RequestStatus[]];
const MOST_TOKENS = 2 ** 32 - 1;
const count = z.int().min(0).max(MOST_TOKENS);
const time_ns = z
  .string()
  .regex(/^\d{1,19}$/)
  .transform(BigInt);
const gap_ns = z.int().min(0).nullable();

/** What is asked, in turn. */
const promptsSchema = z.union([
  z.object({
    texts: z.array(z.string().min(1)).min(1),
    /** How long a prompt may be at most, by the server's own tokens, and whether it is repeated to be so long. */
    fit: z.object({ tokens: z.int().min(1), is_exact: z.boolean() }).nullable(),
  }),
  /** Tokens that are drawn from so many. */
  z.object({ drawn: z.object({ tokens: z.int().min(1), vocabulary: z.int().min(1), seed: z.number() }) }),
]);
export type Prompts = z.output<typeof promptsSchema>;

export const driveSchema = z.object({
  url: z.url(),
  api: z.enum(SERVER_APIS),
  /** Requests under way at once. */
  clients: z.int().min(1),
  /** Of each answer. */
  tokens: z.int().min(1),
  prompts: promptsSchema,
  /** A model that the server is given first, and which is asked; missing where it has its own. */
  model: givenModelSchema.optional(),
  /** Requests are begun for so long; null where `requests` says how many there are. */
  duration_ms: z.number().nullable(),
  requests: z.int().min(1).nullable(),
  /** For how long the server may say nothing while it is asked. */
  silence_ms: z.number().min(1),
});
export type Drive = z.output<typeof driveSchema>;

const exchangeSchema = z.object({
  request_id: count,
  request: z.string().max(MOST_NAME_CHARS).nullable(),
  status: z.enum(STATUSES),
  http_status: z.int().min(0).max(65_535).nullable(),
  sent_ns: time_ns,
  first_token_ns: time_ns.nullable(),
  last_token_ns: time_ns.nullable(),
  end_ns: time_ns,
  streamed_tokens: count,
  token_gap_p50_ns: gap_ns,
  token_gap_p99_ns: gap_ns,
  token_gap_max_ns: gap_ns,
  prompt_tokens: count.nullable(),
  evaluated_tokens: count.nullable(),
  output_tokens: count.nullable(),
  output_ns: gap_ns,
  sequence_id: z
    .int()
    .min(0)
    .max(2 ** 31 - 1)
    .nullable(),
});

export const driveMessageSchema = z.discriminatedUnion("says", [
  z.object({ says: z.literal("sent"), requests: count }),
  exchangeSchema.extend({ says: z.literal("ended") }),
  /** Why it ended before all was asked; null where all was. */
  z.object({ says: z.literal("over"), failure: z.string().nullable() }),
]);
/** As they are sent: times are decimal texts. */
export type DriveMessage = z.input<typeof driveMessageSchema>;
export type EndedExchange = Extract<z.output<typeof driveMessageSchema>, { says: "ended" }>;
