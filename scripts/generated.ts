/** Which files are generated, and from what. */
import { metricsPage } from "../src/analyse/metrics/metrics-page.ts";
import { arrowSchemasJson } from "../src/columnar/arrow/schema-messages.ts";
import { budgetPage } from "../src/config/budget-page.ts";
import { configPage, defaultYaml, demoYaml } from "../src/config/config-pages.ts";
import { devicePage } from "../src/config/device-page.ts";
import { cHeader } from "../src/schema/c-header.ts";
import { columnsPage } from "../src/schema/columns-page.ts";

/** Path from the root of the repository, and text, of every generated file. */
export async function generatedFiles(): Promise<[path: string, text: string][]> {
  return [
    ["bpf/columns.gen.h", cHeader()],
    ["config/default.yaml", defaultYaml()],
    ["config/demo.yaml", demoYaml()],
    ["docs/budget.md", budgetPage()],
    ["docs/columns.md", columnsPage()],
    ["docs/config.md", configPage()],
    ["docs/devices.md", devicePage()],
    ["docs/metrics.md", metricsPage()],
    ["src/columnar/arrow/schema-messages.gen.json", arrowSchemasJson()],
  ];
}
