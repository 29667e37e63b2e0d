/** Completion for bash; an empty answer leaves the word to file names. */
import type { OptionWords, VerbWords } from "./completion-words.ts";

function valueCase({ word, choices }: OptionWords): string {
  const { words, isList } = choices;
  const list = words.join(" ");
  // What stands before the last comma was chosen already.
  const [head, rest] = isList ? [`-P "\${cur%"\${cur##*,}"}" `, `"\${cur##*,}"`] : ["", `"$cur"`];
  const answer = words.length > 0 ? `COMPREPLY=($(compgen ${head}-W '${list}' -- ${rest})); ` : "";
  return `        ${word}) ${answer}return ;;`;
}

function verbCase({ name, options, choices }: VerbWords): string {
  const values = options.filter(({ takesValue }) => takesValue);
  const words = options.map(({ word }) => word).join(" ");
  return [
    `    ${name})`,
    ...(values.length > 0 ? ['      case "$prev" in', ...values.map(valueCase), "      esac"] : []),
    `      options='${words}'`,
    `      words='${choices.join(" ")}'`,
    "      ;;",
  ].join("\n");
}

/** A script to be sourced by bash 4 or later. */
export function bashCompletion(verbs: readonly VerbWords[]): string {
  const names = verbs.map(({ name }) => name).join(" ");
  const takers = verbs.filter(({ takesCommand }) => takesCommand).map(({ name }) => name);
  return `# bash completion of mrm-trace; made by: mrm-trace completions bash
_mrm_trace() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} verb=\${COMP_WORDS[1]} options= words= i
  COMPREPLY=()
  # bash splits --color=auto at the sign.
  if [[ $cur == "=" ]]; then cur=
  elif [[ $prev == "=" ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '${names} --help --version' -- "$cur"))
    return
  fi
  for ((i = 2; i < COMP_CWORD; i++)); do
    if [[ \${COMP_WORDS[i]} == -- ]]; then
      case "$verb" in
        ${takers.length > 0 ? takers.join("|") : "-"}) if ((i == COMP_CWORD - 1)); then COMPREPLY=($(compgen -c -- "$cur")); fi ;;
      esac
      return
    fi
  done
  case "$verb" in
${verbs.map(verbCase).join("\n")}
    *) return ;;
  esac
  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif [[ -n $words ]]; then COMPREPLY=($(compgen -W "$words" -- "$cur"))
  fi
}
complete -o default -F _mrm_trace mrm-trace
`;
}
