/** Completion for fish: one `complete` per verb and option. */
import type { OptionWords, VerbWords } from "./completion-words.ts";

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

function optionLine(verb: string, { word, description, takesValue, choices }: OptionWords): string {
  const { words, isList, isFileToo } = choices;
  const list = words.join(" ");
  const files = isFileToo ? "-r -F" : "-x";
  const values =
    words.length > 0
      ? ` ${files} -a ${quoted(isList ? `(__fish_append , ${list})` : list)}`
      : takesValue
        ? " -r -F"
        : "";
  return `complete -c mrm-trace -n '__fish_seen_subcommand_from ${verb}' -l ${word.slice(2)} -d ${quoted(description)}${values}`;
}

function verbLines({ name, description, options, choices }: VerbWords): string[] {
  return [
    `complete -c mrm-trace -n __fish_use_subcommand -f -a ${name} -d ${quoted(description)}`,
    ...(choices.length > 0
      ? [`complete -c mrm-trace -n '__fish_seen_subcommand_from ${name}' -f -a ${quoted(choices.join(" "))}`]
      : []),
    ...options.map((option) => optionLine(name, option)),
  ];
}

/** A script for `~/.config/fish/completions/mrm-trace.fish`. */
export function fishCompletion(verbs: readonly VerbWords[]): string {
  return [
    "# fish completion of mrm-trace; made by: mrm-trace completions fish",
    "complete -c mrm-trace -n __fish_use_subcommand -l version -d 'Version, build, schemas and BPF objects'",
    ...verbs.flatMap(verbLines),
    "",
  ].join("\n");
}
