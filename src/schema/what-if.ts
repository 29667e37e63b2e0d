/** What `mrm-trace what-if --json` prints. */
import { z } from "zod";
import { wordsOf } from "./row.ts";
import { figure, VALIDITY_CLASSES } from "./run-json.ts";

const verdict = z.enum(["yes", "no", "open"]);

export const whatIfSchema = z.object({
  schema_version: z.string(),
  run_dir: z.string(),
  run_id: z.string(),
  model_id: z.string(),
  /** Of the run, with its reasons: what it cost and lost goes into every figure here. */
  validity: z.enum(VALIDITY_CLASSES),
  reasons: z.array(z.string()).readonly(),
  /** What the rates cover: the decode steps, or all of the time where the run has no tokens. */
  step: z.enum(["decode", "all"]),
  devices: z
    .array(
      z.object({
        name: z.string(),
        /** Figures that the device file leaves open. */
        unknown: z.array(z.string()).readonly(),
        /** Who says the others; null where the file does not tell. */
        sources: z
          .array(
            z.object({
              figure: z.string(),
              source: z.string().nullable(),
              /** Whether who says it made, standardised or measured it, or tells of another's words. */
              kind: z.enum(["primary", "secondary"]).nullable(),
              url: z.string().nullable(),
            }),
          )
          .readonly(),
        /** Each class, and all of them under the name `together`. */
        classes: z
          .array(
            z.object({
              class: z.string(),
              /** Whether its bytes are no more than the capacity. */
              fits: verdict,
              /** Whether its traffic is no more than the bandwidth. */
              is_fast_enough: verdict,
              figures: z
                .array(
                  z.object({
                    figure: z.string(),
                    unit: z.string(),
                    value: figure,
                    lo: figure,
                    hi: figure,
                    status: z.enum(wordsOf("metrics", "status")),
                    why: z.string().nullable(),
                    /** The measured figures that it is made of. */
                    rests_on: z.array(z.string()).readonly(),
                    /** Share of the runs in which all of their intervals hold, at least. */
                    level_at_least: figure,
                  }),
                )
                .readonly(),
            }),
          )
          .readonly(),
      }),
    )
    .readonly(),
  /** Which class goes where, of two devices and more; the first of `devices` is taken where `is_certain`. */
  placement: z
    .array(z.object({ name: z.string(), devices: z.array(z.string()).readonly(), is_certain: z.boolean() }))
    .readonly(),
});

export type WhatIf = z.output<typeof whatIfSchema>;
