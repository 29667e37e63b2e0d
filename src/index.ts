/**
 * The API: what the command line does, for programs of Bun. Names, units and meanings of columns are in docs/columns.md,
 * of figures in docs/metrics.md; every error that a caller may meet is a MrmTraceError.
 */
export type { MetricRow } from "./analyse/figures/metric-row.ts";
export { type AnalyseOptions, type AnalyseResult, analyse } from "./api/analyse.ts";
export { type AttachOptions, attach } from "./api/attach.ts";
export { type OpenedRun, openRun, type RunTable } from "./api/open-run.ts";
export { type RunOptions, type RunResult, run } from "./api/run.ts";
export type { ArrowColumns } from "./columnar/arrow/record-batches.ts";
export { type ErrorCode, MrmTraceError } from "./errors.ts";
export type { ProgressState } from "./report/progress.ts";
export type { LedgerRow } from "./schema/ledger.ts";
export type { RunReport } from "./schema/run-json.ts";
export type { RunMetadata } from "./schema/run-metadata.ts";
