/** What `doctor` finds: the object that its `--json` prints and that its lines are drawn from. */
import { z } from "zod";

export const CHECK_STATUSES = ["ok", "info", "warn", "fail"] as const;

const checkSchema = z.object({
  /** Stable; several checks of one kind share what stands before a colon. */
  name: z.string(),
  status: z.enum(CHECK_STATUSES),
  /** What was found, and for a warning or failure what it costs. */
  summary: z.string(),
  /** The command or change that fixes it; null where nothing is to fix. */
  fix: z.string().nullable(),
  /** The facts behind it. */
  data: z.record(z.string(), z.unknown()).readonly(),
});

const sourceSchema = z.object({
  source: z.string(),
  taken: z.boolean(),
  /** Why a run does not take it by itself; null where it does. */
  why_not: z.string().nullable(),
  /** What a reader of its figures must know. */
  note: z.string().nullable(),
});

export const examinationSchema = z.object({
  schema_version: z.string(),
  /** The worst status of all checks. */
  status: z.enum(CHECK_STATUSES),
  exit_code: z.int().min(0),
  checks: z.array(checkSchema).readonly(),
  sources: z.object({
    /** What a run takes for --source auto, such as `watch` or `pebs,watch`; null where nothing works. */
    auto: z.string().nullable(),
    /** Best first. */
    candidates: z.array(sourceSchema).readonly(),
  }),
});

export type CheckStatus = (typeof CHECK_STATUSES)[number];
export type Check = Readonly<z.output<typeof checkSchema>>;
export type SourceCandidate = Readonly<z.output<typeof sourceSchema>>;
export type Examination = Readonly<z.output<typeof examinationSchema>>;
