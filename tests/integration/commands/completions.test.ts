import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { verbWords } from "../../../src/commands/completions/completion-words.ts";
import { flagWord } from "../../../src/commands/verb.ts";
import { loadVerbs, VERB_NAMES } from "../../../src/commands/verbs.ts";
import { CLI, runCli } from "../run/cli.ts";

let folder = "";
const scripts: Record<string, string> = {};
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "mrm-completions-"));
  for (const shell of ["bash", "zsh", "fish"]) {
    scripts[shell] = join(folder, `mrm-trace.${shell}`);
    writeFileSync(scripts[shell], (await runCli(["completions", shell])).stdout);
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Ctrl-T: takes the line as it stands, and empties it. */
const TAKE = "\x14";

const RC: Record<string, (script: string, lines: string) => string> = {
  bash: (script, lines) => `source '${script}'
take() { printf '%s\\n' "$READLINE_LINE" >> '${lines}'; READLINE_LINE=; READLINE_POINT=0; }
bind -x '"\\C-t": take'
`,
  zsh: (script, lines) => `autoload -Uz compinit; compinit -u -D; source '${script}'
take() { print -r -- "$BUFFER" >> '${lines}'; BUFFER= }
zle -N take; bindkey '^T' take
`,
};

/** What an interactive shell on a terminal makes of each text when Tab is pressed behind it. */
async function typed(shell: "bash" | "zsh", texts: readonly string[]): Promise<string[]> {
  const lines = join(folder, `${shell}.lines`);
  writeFileSync(lines, "");
  writeFileSync(join(folder, ".zshrc"), RC.zsh?.(scripts.zsh ?? "", lines) ?? "");
  writeFileSync(join(folder, ".bashrc"), RC.bash?.(scripts.bash ?? "", lines) ?? "");
  const command = shell === "bash" ? `bash --rcfile ${folder}/.bashrc -i` : "zsh -i";
  const child = Bun.spawn(["script", "-qfec", command, "/dev/null"], {
    cwd: folder,
    env: { PATH: process.env.PATH, ZDOTDIR: folder, HOME: folder, TERM: "dumb" },
    stdin: "pipe",
    stdout: "ignore",
    stderr: "ignore",
  });
  for (const text of texts) child.stdin.write(`${text}\t${TAKE}`);
  child.stdin.write("exit\n");
  await child.stdin.flush();
  const stuck = setTimeout(() => child.kill("SIGKILL"), 20_000);
  await child.exited;
  clearTimeout(stuck);
  return readFileSync(lines, "utf8").trimEnd().split("\n");
}

describe.each(["bash", "zsh"] as const)("%s", (shell) => {
  test("completes verbs, options, their values and positional words", async () => {
    writeFileSync(join(folder, "experiment.yaml"), "");
    const made = await typed(shell, [
      "mrm-trace compl",
      "mrm-trace run --watch-r",
      "mrm-trace run --color al",
      "mrm-trace run --color=ne",
      "mrm-trace completions z",
      "mrm-trace schema kv",
      "mrm-trace validate experi",
      "mrm-trace export run --format perf",
      "mrm-trace export run --format=zen",
      "mrm-trace export run --table region_me",
      "mrm-trace show run --class kv",
      "mrm-trace what-if run --device stt",
      "mrm-trace run --collector mem",
      "mrm-trace run --collector ebpf,perf-m",
      "mrm-trace compare --arms off,attached",
      "mrm-trace run -- mkfif",
    ]);
    // zsh knows that a value follows and writes the sign for it, or the comma for the next word of a list.
    expect(made.map((line) => line.trimEnd().replace(/[=,]$/, ""))).toEqual([
      "mrm-trace completions",
      "mrm-trace run --watch-registers",
      "mrm-trace run --color always",
      "mrm-trace run --color=never",
      "mrm-trace completions zsh",
      "mrm-trace schema kv_block_lifecycle",
      "mrm-trace validate experiment.yaml",
      "mrm-trace export run --format perfetto",
      "mrm-trace export run --format=zenodo",
      "mrm-trace export run --table region_metrics",
      "mrm-trace show run --class kv_cache",
      "mrm-trace what-if run --device stt-mram",
      "mrm-trace run --collector memray",
      "mrm-trace run --collector ebpf,perf-mem",
      "mrm-trace compare --arms off,attached-idle",
      "mrm-trace run -- mkfifo",
    ]);
  });
});

test("bash offers every verb, and every option of a verb", async () => {
  const answers = (words: string): string[] => {
    const ask = `source '${scripts.bash}'; COMP_WORDS=(${words} ''); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); COMP_WORDS[COMP_CWORD]=$1; _mrm_trace; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const typing = words === "mrm-trace" ? "" : "--";
    return Bun.spawnSync(["bash", "-c", ask, "bash", typing]).stdout.toString().trim().split("\n");
  };
  expect(answers("mrm-trace")).toEqual([...VERB_NAMES, "--help", "--version"]);
  for (const [name, { args, common }] of Object.entries(await loadVerbs())) {
    const options = Object.entries(args).filter(([, arg]) => arg.type !== "positional");
    expect([name, answers(`mrm-trace ${name}`)]).toEqual([
      name,
      [...options.map(([key, arg]) => flagWord(key, arg).word), "--help", ...(common === null ? [] : ["--help-all"])],
    ]);
  }
});

test("every option that takes some words of a closed list has them all offered by bash", async () => {
  for (const { name, options } of verbWords(await loadVerbs())) {
    for (const { word, choices } of options) {
      if (choices.words.length === 0) continue;
      const ask = `source '${scripts.bash}'; COMP_WORDS=(mrm-trace ${name} ${word} ''); COMP_CWORD=3; _mrm_trace; echo "\${COMPREPLY[@]}"`;
      const offered = Bun.spawnSync(["bash", "-c", ask]).stdout.toString().trim();
      expect([name, word, offered]).toEqual([name, word, choices.words.join(" ")]);
    }
  }
});

test("an option that lists its words in its description has them to be completed", async () => {
  for (const [name, { args }] of Object.entries(await loadVerbs())) {
    const options = verbWords(await loadVerbs()).find((verb) => verb.name === name)?.options ?? [];
    for (const [key, arg] of Object.entries(args)) {
      if (arg.type === "positional" || arg.type === "boolean") continue;
      // Three words and more with commas between, alone or behind a colon.
      const [, listed] = /(?:^|: )((?:[a-z][a-z0-9_-]*, ){2,}[a-z0-9_-]+)(?:$|;| \()/.exec(arg.description ?? "") ?? [];
      if (listed === undefined) continue;
      const words = options.find(({ word }) => word === `--${key}`)?.choices.words ?? [];
      expect([name, key, words]).toEqual([name, key, expect.arrayContaining(listed.split(", "))]);
    }
  }
});

test("fish completes verbs, options, their values and positional words", () => {
  const answers = (text: string): string[] => {
    const ask = `source '${scripts.fish}'; complete -C '${text}'`;
    const child = Bun.spawnSync(["fish", "--no-config", "-c", ask], { env: { ...process.env, HOME: folder } });
    return child.stdout
      .toString()
      .trim()
      .split("\n")
      .map((line) => line.split("\t")[0] ?? "");
  };
  expect(answers("mrm-trace compl")).toEqual(["completions"]);
  expect(answers("mrm-trace run --watch-r")).toEqual(["--watch-registers"]);
  expect(answers("mrm-trace run --color ").sort()).toEqual(["always", "auto", "never"]);
  expect(answers("mrm-trace schema kv")).toEqual(["kv_block_lifecycle"]);
  expect(answers("mrm-trace export run --format perf")).toEqual(["perfetto"]);
  expect(answers("mrm-trace run --collector ebpf,mem")).toEqual(["ebpf,memray"]);
  expect(answers("mrm-trace what-if run --device stt")).toEqual(["stt-mram"]);
});

test("the shell is the user's own where none is named, and an unknown one is refused", async () => {
  const asked = Bun.spawnSync([process.execPath, CLI, "completions"], { env: { ...process.env, SHELL: "/bin/zsh" } });
  expect(asked.stdout.toString()).toStartWith("#compdef mrm-trace");
  const refused = await runCli(["completions", "tcsh"]);
  expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining("bash, zsh, fish")]);
});
