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
   */
  find(kind: number, source: number, sources: readonly string[], pid: number): number;
  /** What is summed of the owner's class and source, over all processes; by number of the owner. */
  readonly sums: readonly Sums[];
  /** The same by `sourceKey`, in the order in which they were first met. */
  readonly byKey: ReadonlyMap<string, Sums>;
}

/** @param make the sums of a class as one source saw it, before any sample */
export function sampleOwners<Sums>(
  classes: readonly SampleClass[],
  make: (dataClass: SampleClass, source: string) => Sums,
): SampleOwners<Sums> {
  const byKey = new Map<string, Sums>();
  const sums: Sums[] = [];
  /** Owners of a process by source and class. */
  const ofPid = new Map<number, number[]>();
  let lastPid = -1;
  let regionOwners: number[] = [];

  function add(kind: number, source: string): number {
    const found = classes[kind] ?? { region_type: "unknown", mapping_kind: null };
    const key = sourceKey(found, source);
    const existing = byKey.get(key) ?? make(found, source);
    byKey.set(key, existing);
    return sums.push(existing) - 1;
  }

  return {
    sums,
    byKey,
    find(kind, source, sources, pid) {
      if (pid !== lastPid) {
        regionOwners = ofPid.get(pid) ?? [];
        ofPid.set(pid, regionOwners);
        lastPid = pid;
      }
      const slot = source * classes.length + kind;
      let owner = regionOwners[slot];
      if (owner === undefined) {
        owner = add(kind, sources[source] ?? "");
        regionOwners[slot] = owner;
      }
      return owner;
    },
  };
}
