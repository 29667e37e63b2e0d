/** Worlds of the sources that are no watches, and how often their intervals hold the truth. */
import { type Answer, answerOf, type CoverageRow, type Runs, summary } from "../../../../src/simulate/coverage.ts";
import { WEIGHTS_WRITTEN } from "./loaded-weights.ts";
import { MAPPED_REGIONS } from "./mapped-regions.ts";
import { SAMPLED_PROGRAMS } from "./sampled-programs.ts";
import { SLOT_SERVERS } from "./slot-servers.ts";
import { nameOf, type SourceWorld } from "./source-world.ts";

export const SOURCE_WORLDS: readonly SourceWorld[] = [
  ...SLOT_SERVERS,
  ...MAPPED_REGIONS,
  ...WEIGHTS_WRITTEN,
  ...SAMPLED_PROGRAMS,
];

/** Runs a world with so many seeds from `first` on. The name of a figure says of which step it is, and its row is of no other. */
export async function sourceCoverage(world: SourceWorld, { seeds, first = 1 }: Runs): Promise<CoverageRow[]> {
  const answers: (Answer & { readonly name: string })[] = [];
  for (let seed = first; seed < first + seeds; seed++) {
    const { rows, truth } = await world.run(seed);
    for (const row of rows) {
      const name = nameOf(row);
      if (!world.sources.includes(row.source) || !truth.has(name)) continue;
      answers.push({ name, ...answerOf(row, truth.get(name) ?? null) });
    }
  }
  const figures = Map.groupBy(answers, ({ name, row }) => `${row.source} ${name}`);
  return [...figures.values()].flatMap((ofFigure) =>
    summary(world.name, ofFigure).map((row) => ({
      ...row,
      metric: ofFigure[0]?.name ?? row.metric,
      phase: "all",
      step: "all",
    })),
  );
}
