/** Places of a list by a key of each: two numbers for a place, however many keys there are. */

/** @param keyOf a place; null for one that is in no list @returns places in order, keys in order of their first place */
export function placesByKey<Key>(length: number, keyOf: (place: number) => Key | null): Map<Key, Uint32Array> {
  const numbers = new Map<Key, number>();
  const counts: number[] = [];
  // From 1 on; 0 for a place that is in no list.
  const numberOf = new Uint32Array(length);
  for (let place = 0; place < length; place++) {
    const key = keyOf(place);
    if (key === null) continue;
    let number = numbers.get(key);
    if (number === undefined) {
      number = counts.push(0);
      numbers.set(key, number);
    }
    numberOf[place] = number;
    counts[number - 1] = (counts[number - 1] as number) + 1;
  }
  const lists = counts.map((count) => new Uint32Array(count));
  const next = new Uint32Array(counts.length);
  for (let place = 0; place < length; place++) {
    const number = (numberOf[place] as number) - 1;
    const list = lists[number];
    if (list === undefined) continue;
    list[next[number] as number] = place;
    next[number] = (next[number] as number) + 1;
  }
  return new Map([...numbers].map(([key, number]) => [key, lists[number - 1] as Uint32Array]));
}
