/** The script and the style of the page: bundled here and now from the package, so that nothing is fetched and nothing is built before. */
import { join } from "node:path";
import { MrmTraceError } from "../../errors.ts";
import { TSCONFIG } from "../../runtime.ts";

const BROWSER = join(import.meta.dir, "../browser");

export interface PageCode {
  readonly script: string;
  readonly style: string;
}

/** Bundles src/report/browser with what it imports. @throws MrmTraceError environment where a package is missing */
export async function pageCode(): Promise<PageCode> {
  try {
    const { outputs } = await Bun.build({
      entrypoints: [join(BROWSER, "main.ts")],
      target: "browser",
      format: "iife",
      minify: true,
      env: "disable",
      // Otherwise the folder in which we are started says where packages lie.
      tsconfig: TSCONFIG,
    });
    const [script = ""] = await Promise.all(outputs.map((output) => output.text()));
    // What the bundler took, a third of all that the page takes, goes back before the tables of the run are read.
    Bun.gc(true);
    const style = await Bun.file(join(BROWSER, "style.css")).text();
    // Inside of a string or a regular expression it means the same; anywhere else it is no code.
    return { script: script.replace(/<(?=\/script|!--)/gi, "\\x3c"), style };
  } catch (cause) {
    const why = cause instanceof AggregateError ? cause.errors.map(String).join("; ") : String(cause);
    const hint = "install the package again, with its dependencies";
    throw new MrmTraceError("environment", `the report's page cannot be built: ${why}`, hint, { cause });
  }
}
