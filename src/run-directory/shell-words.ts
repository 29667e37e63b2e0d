/** Command lines in messages and pages: whoever pastes one into a shell gets the same words. */

/** Words as a shell takes them. */
export function shellWords(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}

/** The command that derives a run again. */
export function analyseCommand(runDir: string): string {
  return shellWords(["mrm-trace", "analyse", runDir]);
}
