/** What the processes of a run say alike. */

type Words = Readonly<Record<string, unknown>>;

/** The words of which none is said otherwise by another one. @param said words by name, of each process */
export function agreedWords(said: readonly Words[]): Words {
  const values = new Map<string, unknown>();
  const disputed = new Set<string>();
  for (const [name, value] of said.flatMap(Object.entries<unknown>)) {
    if (values.has(name) && !Bun.deepEquals(values.get(name), value)) disputed.add(name);
    values.set(name, value);
  }
  return Object.fromEntries([...values].filter(([name]) => !disputed.has(name)));
}
