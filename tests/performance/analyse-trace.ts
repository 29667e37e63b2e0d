/** Times our analysis of a trace as compute_all is timed, its program loaded: `bun analyse-trace.ts TRACE FOLDER`. */
import { analyse } from "../../src/pipelines/analyse.ts";
// Loaded on use otherwise, and so within the time.
import "../../src/analyse/import-pipeline.ts";

/** Seconds of everything that `mrm-trace analyse` does with a trace: reading, estimating, writing, digests. */
const [trace = "", folder = ""] = process.argv.slice(2);
const begin = performance.now();
await analyse(trace, { output: folder, period: 1, force: false, seed: 1 });
process.stdout.write(String((performance.now() - begin) / 1e3));
