/** `mrm-trace completions`: a script that lets a shell complete verbs, options and their values. */
import { defineCommand } from "citty";
import { MrmTraceError } from "../errors.ts";
import { bashCompletion } from "./completions/bash.ts";
import { verbWords } from "./completions/completion-words.ts";
import { fishCompletion } from "./completions/fish.ts";
import { zshCompletion } from "./completions/zsh.ts";

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;
const NAMES = Object.keys(SHELLS);

export const completionsCommand = defineCommand({
  meta: { name: "completions", description: "Print a script that completes verbs, options and their values" },
  args: {
    shell: {
      type: "positional",
      required: false,
      valueHint: NAMES.join("|"),
      description: "bash, zsh or fish; default: the one of $SHELL",
    },
  },
  async run({ args }) {
    const shell = args.shell ?? process.env.SHELL?.split("/").at(-1) ?? "";
    const found = Object.entries(SHELLS).find(([name]) => name === shell);
    if (found === undefined) {
      const hint = `give one of ${NAMES.join(", ")}, such as: mrm-trace completions bash`;
      throw new MrmTraceError("usage", `no completions for the shell "${shell}"`, hint);
    }
    // The table imports this file.
    const { loadVerbs } = await import("./verbs.ts");
    process.stdout.write(found[1](verbWords(await loadVerbs())));
  },
});
