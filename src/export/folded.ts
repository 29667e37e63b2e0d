/** `folded`: one line per stack, frames with `;` between them and a number, as flame graph tools take it. */
import { MrmTraceError } from "../errors.ts";
import type { ExportTask, FileFormat } from "./export-format.ts";
import type { NewFile } from "./new-file.ts";
import { loadStacks } from "./stacks/load-stacks.ts";
import { type Stack, VALUES, type ValueName, valuesOf } from "./stacks/stack.ts";

/** A name in a line: what ends a frame or the line would make others of it. */
function frameText(name: string): string {
  return name.replace(/[;\p{Cc}]+/gu, "_");
}

/** The value that was asked for, or the first that the run has. @throws MrmTraceError usage */
function chosenValue(asked: ValueName | undefined, present: readonly ValueName[]): ValueName {
  const value = asked ?? present[0];
  if (value !== undefined && present.includes(value)) return value;
  throw new MrmTraceError("usage", `the run has no ${asked} by code`, `give --value one of: ${present.join(", ")}`);
}

/** The lines of the stacks, most first; those of which nothing is left are left out. */
export function foldedLines(stacks: readonly Stack[], value: ValueName): string[] {
  const sums = new Map<string, number>();
  for (const { pid, frames, labels, values } of stacks) {
    const names = [`pid ${pid}`, ...frames.map((frame) => frame.function), ...Object.values(labels)];
    const line = names.map(frameText).join(";");
    sums.set(line, (sums.get(line) ?? 0) + (values[value] ?? 0));
  }
  const present = [...sums].filter(([, sum]) => Math.round(sum) > 0);
  return present
    .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    .map(([line, sum]) => `${line} ${Math.round(sum)}`);
}

async function write(task: ExportTask, file: NewFile): Promise<void> {
  const stacks = await loadStacks(task);
  const present = valuesOf(stacks);
  const value = chosenValue(task.value, present);
  const others = present.filter((name) => name !== value);
  if (others.length > 0) task.leaveOut(`${others.join(", ")}: the lines are ${VALUES[value].about} (--value ${value})`);
  const encoder = new TextEncoder();
  for (const line of foldedLines(stacks, value)) file.write(encoder.encode(`${line}\n`));
}

export const folded: FileFormat = { makes: "file", takes: ["value"], ending: () => "folded", write };
