/** The values of an option that may be given several times, in their order: the parser keeps the last one alone. */

/** @param name of the option without its dashes @param rawArgs of the verb */
export function givenWords(name: string, rawArgs: readonly string[]): string[] {
  const flag = `--${name}`;
  return rawArgs.flatMap((word, i) => {
    if (word.startsWith(`${flag}=`)) return [word.slice(flag.length + 1)];
    const next = rawArgs[i + 1];
    return word === flag && next !== undefined ? [next] : [];
  });
}
