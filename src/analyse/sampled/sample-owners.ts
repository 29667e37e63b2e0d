/** To which sums a sample belongs: those of its class, its source and its process. */

/** A class: what is of no known type is told apart by the kind of mapping. */
export interface SampleClass {
  readonly region_type: string;
  readonly mapping_kind: string | null;
  /** Number of the region, where single ones are told apart. */
  readonly region?: number;
}

/** A class as one source saw it, as one text. */
export function sourceKey({ region_type, mapping_kind, region }: SampleClass, source: string): string {
  return [region_type, region_type === "unknown" ? (mapping_kind ?? "") : "", source, region ?? ""].join("\0");
}

export interface SampleOwners<Sums> {
  /**
   * Number of the owner, from 0.
   * @param kind position of the class
   * @param source position in `sources`
   * @param isCounted whether the sample stands for a number of accesses
   */
  find(kind: number, source: number, sources: readonly string[], pid: number, isCounted: boolean): number;
  /** What is summed of the owner's class and source, over all processes; by number of the owner. */
  readonly sums: readonly Sums[];
  /** The same by class, source and whether they are counted, in the order in which they were first met. */
  readonly byKey: ReadonlyMap<string, Sums>;
}

/** @param make the sums of a class as one source saw it, before any sample */
export function sampleOwners<Sums>(
  classes: readonly SampleClass[],
  make: (dataClass: SampleClass, source: string, isCounted: boolean) => Sums,
): SampleOwners<Sums> {
  const byKey = new Map<string, Sums>();
  const sums: Sums[] = [];
  /** Owners of a process by source and class. */
  const ofPid = new Map<number, number[]>();
  let lastPid = -1;
  let regionOwners: number[] = [];

  function add(kind: number, source: string, isCounted: boolean): number {
    const found = classes[kind] ?? { region_type: "unknown", mapping_kind: null };
    const key = `${sourceKey(found, source)}\0${isCounted}`;
    const existing = byKey.get(key) ?? make(found, source, isCounted);
    byKey.set(key, existing);
    return sums.push(existing) - 1;
  }

  return {
    sums,
    byKey,
    find(kind, source, sources, pid, isCounted) {
      if (pid !== lastPid) {
        regionOwners = ofPid.get(pid) ?? [];
        ofPid.set(pid, regionOwners);
        lastPid = pid;
      }
      const slot = 2 * (source * classes.length + kind) + (isCounted ? 1 : 0);
      let owner = regionOwners[slot];
      if (owner === undefined) {
        owner = add(kind, sources[source] ?? "", isCounted);
        regionOwners[slot] = owner;
      }
      return owner;
    },
  };
}
