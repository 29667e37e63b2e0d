/** Examines this machine and prints what was found, for every verb that does so. */
import packageJson from "../../package.json" with { type: "json" };
import { renderExamination } from "../report/examination.ts";
import { type ColorChoice, terminalOf } from "../report/terminal.ts";
import { examinationSchema } from "../schema/examination.ts";
import { toJson } from "../schema/run-json.ts";

export interface ExaminationChoice {
  /** Folder for run directories. */
  readonly output: string;
  readonly json: boolean;
  readonly color: ColorChoice;
}

/** One JSON object, or lines for a person, on stdout; returns the exit code: 3 where a check failed. */
export async function printExamination({ output, json, color }: ExaminationChoice): Promise<number> {
  // Loaded on use: the tracer has the same entry point and must stay small.
  const { examineMachine } = await import("../doctor/examine.ts");
  const found = await examineMachine({ output, bunNeeded: packageJson.engines.bun });
  const text = json
    ? `${toJson(examinationSchema.parse(found))}\n`
    : renderExamination(found, terminalOf(process.stdout, color, process.env));
  process.stdout.write(text);
  return found.exit_code;
}
