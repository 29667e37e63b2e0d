/** The first lines of the program, and the only place that ends it: a signal that comes while the rest is loaded ends it in a word too. */
import { watchSignals } from "./record/signals.ts";

const early = watchSignals();
const { commandLine } = await import("./command-line.ts");
process.exit(await commandLine(process.argv.slice(2), early));
