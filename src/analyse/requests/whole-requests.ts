/**
 * Which of the requests that an engine names are one request of a client: vLLM makes one of each answer where several are asked for (`n`),
 * and one of each beam and token where it searches by beams. Their names say so.
 */

/** Number of the answer, and the name of the request, which ends with a random word: no two others have that alike. */
const ANSWER = /^(\d{1,6})_(.+)$/;
/** The request, a random word for each token, the number of the beam, and a random word for each. */
const BEAM = /^(.+)-[0-9a-f]{16}-beam-\d{1,6}(?:-[0-9a-f]{8,16})?$/;

export interface WholeRequests {
  /** How many clients' requests they are. */
  readonly count: number;
  /** How many there are of the one that has a name, that one too. */
  partsOf(name: string | null): number;
}

/** @param names as the engine has them; null for one that has none */
export function wholeRequests(names: readonly (string | null)[]): WholeRequests {
  const answers = Map.groupBy(new Set(names), (name) => ANSWER.exec(name ?? "")?.[2]);
  function wholeOf(name: string): string {
    const answered = ANSWER.exec(name)?.[2];
    // One alone may be called so by who sent it.
    if (answered !== undefined && (answers.get(answered)?.length ?? 0) > 1) return `answers ${answered}`;
    const searched = BEAM.exec(name)?.[1];
    return searched === undefined ? `one ${name}` : `beams ${searched}`;
  }
  const parts = new Map<string, number>();
  let nameless = 0;
  for (const name of names) {
    if (name === null) nameless += 1;
    else parts.set(wholeOf(name), (parts.get(wholeOf(name)) ?? 0) + 1);
  }
  return {
    count: parts.size + nameless,
    partsOf: (name) => (name === null ? 1 : (parts.get(wholeOf(name)) ?? 1)),
  };
}
