/** Completion for zsh, by its own `_arguments`. */
import type { OptionWords, VerbWords } from "./completion-words.ts";

/** A text inside single quotes of a specification, where brackets and colons have a meaning. */
function inSpec(text: string): string {
  return text.replace(/[\\[\]:]/g, "\\$&").replaceAll("'", "'\\''");
}

function optionSpec({ word, description, takesValue, choices }: OptionWords): string {
  const { words, isList, isFileToo } = choices;
  const list = words.join(" ");
  const chosen = isList ? `_values -s , value ${list}` : isFileToo ? `{compadd -- ${list}; _files}` : `(${list})`;
  const action = words.length > 0 ? chosen : "_files";
  const value = takesValue ? `:value:${action}` : "";
  return `        '${word}${takesValue ? "=" : ""}[${inSpec(description)}]${value}'`;
}

function verbCase({ name, options, choices }: VerbWords): string {
  const rest = `        '*:argument:${choices.length > 0 ? `(${choices.join(" ")})` : "_files"}'`;
  return `    ${name})\n      _arguments -S \\\n${[...options.map(optionSpec), rest].join(" \\\n")}\n      ;;`;
}

/** A script for a folder of `fpath`, or to be sourced after `compinit`. */
export function zshCompletion(verbs: readonly VerbWords[]): string {
  const takers = verbs.filter(({ takesCommand }) => takesCommand).map(({ name }) => name);
  const described = verbs.map(({ name, description }) => `    '${name}:${inSpec(description)}'`);
  return `#compdef mrm-trace
# zsh completion of mrm-trace; made by: mrm-trace completions zsh
_mrm_trace() {
  local -a verbs=(
${described.join("\n")}
  )
  if ((CURRENT == 2)); then
    _describe command verbs
    compadd -- --help --version
    return
  fi
  local verb=$words[2] at=\${words[(i)--]}
  if ((at < CURRENT)); then
    # Behind -- stands a command of its own.
    if [[ " ${takers.join(" ")} " == *" $verb "* ]]; then shift at words; ((CURRENT -= at)); _normal; fi
    return
  fi
  shift words
  ((CURRENT--))
  case "$verb" in
${verbs.map(verbCase).join("\n")}
  esac
}
if [[ $funcstack[1] == _mrm_trace || $funcstack[1] == _mrm-trace ]]; then _mrm_trace "$@"
else compdef _mrm_trace mrm-trace
fi
`;
}
