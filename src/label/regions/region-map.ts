/** The region map: every byte that a process had, over its life, once, with what it is and how that is known. */
import { collectAfter } from "../../columnar/collect-after.ts";
import { everyRow } from "../../columnar/keys/number-order.ts";
import type { TensorLifetime } from "../../regions/tensor-map.ts";
import { wordsOf } from "../../schema/row.ts";
import type { MappingFacts, MappingStays } from "../capture/mapping-stays.ts";
import { phaseAt, type Timeline } from "../timeline/phase.ts";
import { type EngineRegion, engineRegions } from "./engine-regions.ts";
import { classifyMapping, type Verdict } from "./evidence.ts";
import { sinceItsStep } from "./graph-births.ts";
import { placeIndex } from "./place-index.ts";
import { CENSORED, goneNs, inOrder, type Places } from "./places.ts";
import { outlivedTwins } from "./twins.ts";
import { type Extent, uncovered } from "./uncovered.ts";

/** What a region is; regions of one mapping's kind share it. */
export interface RegionFacts extends Verdict {
  readonly exec_epoch: number;
  readonly mapping_kind: string | null;
  /** The file that is mapped there; null for any other kind of mapping. */
  readonly file: string | null;
  readonly name: string | null;
  readonly tensor: string | null;
  readonly logical_id: string | null;
  readonly layer: number | null;
  readonly candidates: readonly string[];
  /** All of it in a file that was mapped before our eyes, to which the process could not write while it was there. */
  readonly is_read_only: boolean;
  /** All of it in a file to which the process could not write while we looked, nor any other through a mapping of the run. */
  readonly is_unwritable: boolean;
  /** Others may use the same bytes through another mapping. */
  readonly is_shared: boolean;
  /** A tensor, of which another region of its process holds the same bytes of the same file at the same time: their pages are there once. */
  readonly is_twin: boolean;
}

/**
 * Regions of all processes, disjoint in address and time within each, in order of process, address and birth: the number
 * of a region is its row plus 1. No death is later than the end of the run. `what` is a position in `facts`.
 */
export interface Regions extends Places {
  readonly facts: readonly RegionFacts[];
  /** When regions of memory that was moved came into being at their first address, by row; of those alone of which it is known. */
  readonly movedBirths: ReadonlyMap<number, number>;
}

export interface RegionInputs {
  /** What they hold becomes the regions. */
  readonly stays: MappingStays;
  readonly tensors: readonly TensorLifetime[];
  readonly timeline: Timeline;
  /** Processes in which an engine was recognised that places tensors. */
  readonly enginePids: ReadonlySet<number>;
  /** Engines that do not tell of all their tensors. */
  readonly partialEngines: ReadonlySet<string | null>;
  /** Processes in which it loaded a model or computed. */
  readonly workedPids: ReadonlySet<number>;
  readonly originNs: bigint;
  /** End of the run, ns since the origin: what lives longer is censored there. */
  readonly windowNs: number;
}

/** Stays until what judging them left behind is collected. */
const COLLECT_AFTER = 1 << 15;
/** Gone sooner than that, where another mapping has the same tensors: a loader looked at the header of its file. */
const MOMENT_NS = 100_000_000;
/** Words of evidence fit, for every class. */
const VERDICTS = 1 << 8;
const EVIDENCE = wordsOf("region_map", "evidence");
const REGION_TYPES = wordsOf("region_map", "region_type");

const fileOf = ({ mapping_kind, path }: MappingFacts): string | null => (mapping_kind === "file" ? path : null);

/** A tensor, the mapping in which it lies, and whether that holds all of it. */
interface PlacedTensor {
  readonly region: EngineRegion;
  readonly mapping: MappingFacts | undefined;
  readonly isInOne: boolean;
}

/** Facts of regions by what their mappings are and what that was taken for. */
function factList(mappings: readonly MappingFacts[]) {
  const facts: RegionFacts[] = [];
  const numbers = new Map<number, number>();

  function ofMapping(mapping: number, verdict: Verdict): number {
    const words = REGION_TYPES.indexOf(verdict.region_type) * EVIDENCE.length + EVIDENCE.indexOf(verdict.evidence);
    const key = mapping * VERDICTS + words;
    const existing = numbers.get(key);
    if (existing !== undefined) return existing;
    const found = mappings[mapping] as MappingFacts;
    const { exec_epoch, mapping_kind, path, is_read_only, is_unwritable, is_shared } = found;
    const number = facts.push({
      ...verdict,
      exec_epoch,
      mapping_kind,
      file: fileOf(found),
      name: path ?? mapping_kind,
      tensor: null,
      logical_id: null,
      layer: null,
      candidates: [],
      is_read_only,
      is_unwritable: is_unwritable && !is_shared,
      is_shared,
      is_twin: false,
    });
    numbers.set(key, number - 1);
    return number - 1;
  }

  /** What a tensor's own mapping says of it is where it lies. */
  function ofEngine({ region, mapping, isInOne }: PlacedTensor, is_twin: boolean): number {
    const { region_type, evidence, confidence, name, tensor, logical_id, layer, candidates } = region;
    const number = facts.push({
      region_type,
      evidence,
      confidence,
      name,
      tensor,
      logical_id,
      layer,
      candidates,
      exec_epoch: mapping?.exec_epoch ?? 0,
      mapping_kind: mapping?.mapping_kind ?? null,
      file: mapping === undefined ? null : fileOf(mapping),
      is_read_only: isInOne && mapping?.is_read_only === true,
      is_unwritable: isInOne && mapping?.is_unwritable === true && !mapping.is_shared,
      is_shared: mapping?.is_shared === true,
      is_twin,
    });
    return number - 1;
  }

  return { facts, ofMapping, ofEngine };
}

/** Where a tensor is, whether the file that is mapped there tells of it, and whether who told tells nothing of other memory. */
interface Cover extends Extent {
  readonly by_file: boolean;
  readonly is_alone: boolean;
}

const meet = (one: Extent, other: Extent): boolean =>
  one.begin < other.end && other.begin < one.end && one.birth_ns < other.death_ns && other.birth_ns < one.death_ns;

/** The regions of the engine's tensors, which are added to the list, and what they leave nothing of, by process. */
function addTensors(inputs: RegionInputs, places: Places, ofEngine: ReturnType<typeof factList>["ofEngine"]) {
  const { stays, tensors, timeline, partialEngines, originNs, windowNs } = inputs;
  const covers = new Map<number, Cover[]>();
  const namedFiles = new Set<string>();
  if (tensors.length === 0) return { covers, namedFiles };
  const mappingAt = placeIndex(places);
  const added: (PlacedTensor & {
    readonly pid: number;
    readonly extent: Extent;
    readonly censored: number;
    readonly cover: Cover;
  })[] = [];
  for (const [pid, lives] of Map.groupBy(tensors, (life) => life.pid)) {
    const isPartial = lives.every(({ engine, evidence }) => partialEngines.has(engine) || evidence === "file_header");
    const slots = timeline.get(pid) ?? [];
    const found = engineRegions(lives, originNs);
    for (const region of found) {
      const row = mappingAt.find(pid, region.begin, Math.min(Math.max(region.birth_ns, 0), windowNs));
      // It must be gone with its mapping at the latest.
      const mappingDeath = row < 0 ? Number.POSITIVE_INFINITY : goneNs(places, row);
      const gone = Math.min(region.death_ns, mappingDeath);
      const outlives = gone > windowNs;
      // What the program asked for to keep its own objects in held nothing else since it was mapped.
      const isObjects = region.evidence === "engine_objects" && region.region_type === "runtime";
      const mapped = isObjects && row >= 0 ? (places.birth_ns[row] as number) : null;
      const isInOne = row >= 0 && (places.end[row] as number) >= region.end;
      const mapping = row < 0 ? undefined : stays.facts[places.what[row] as number];
      const { begin, end } = region;
      const since = row < 0 ? region.birth_ns : sinceItsStep(region, found, slots, places.birth_ns[row] as number);
      const birth_ns = mapped ?? since;
      const isOld = mapped === null ? region.birth_censored : ((places.censored[row] as number) & CENSORED.birth) !== 0;
      // What the process moved with its mapping lives on there.
      const left = row >= 0 && gone === mappingDeath ? (places.censored[row] as number) & CENSORED.left : 0;
      const censored = (isOld ? CENSORED.birth : 0) | (outlives ? CENSORED.death : left);
      const extent = { begin, end, birth_ns, death_ns: outlives ? windowNs : gone };
      // What outlived the run leaves nothing of its mapping behind.
      const by_file = region.evidence === "file_header";
      const is_alone = isPartial || by_file || region.evidence === "operand";
      if (by_file && mapping !== undefined) namedFiles.add(`${pid}/${mapping.path}`);
      const cover = { begin, end, birth_ns, death_ns: outlives ? Number.POSITIVE_INFINITY : gone, by_file, is_alone };
      added.push({ region, mapping, isInOne, pid, extent, censored, cover });
    }
    covers.set(pid, []);
  }
  const twins = outlivedTwins(
    added.map(({ pid, region: { tensor }, mapping, extent: { begin, end, birth_ns, death_ns } }) => {
      if (tensor === null || mapping === undefined || fileOf(mapping) === null) return null;
      return { bytes: `${pid}/${mapping.inode}/${mapping.path}/${end - begin}/${tensor}`, birth_ns, death_ns };
    }),
  );
  for (const [number, placed] of added.entries()) {
    const { pid, extent, censored, cover } = placed;
    const { begin, end, birth_ns, death_ns } = extent;
    if (twins.has(number) && cover.by_file && cover.death_ns - birth_ns < MOMENT_NS) continue;
    covers.get(pid)?.push(cover);
    stays.list.add(pid, begin, end, birth_ns, death_ns, ofEngine(placed, twins.has(number)), censored);
  }
  return { covers, namedFiles };
}

/** What is known of the regions of all processes; takes the stays over, as a run may have millions. */
export function regionMap(inputs: RegionInputs): Regions {
  const { stays, timeline, windowNs, enginePids, workedPids } = inputs;
  const { list, births } = stays;
  const { places } = list;
  const { count } = places;
  const { facts, ofMapping, ofEngine } = factList(stays.facts);
  const { covers, namedFiles } = addTensors(inputs, places, ofEngine);
  const pidsWhere = (isSo: (cover: Cover) => boolean) =>
    new Set([...covers].filter(([, those]) => those.some(isSo)).map(([pid]) => pid));
  const [engineTold, fileTold] = [pidsWhere(({ is_alone }) => !is_alone), pidsWhere(({ by_file }) => by_file)];
  const judged = collectAfter(COLLECT_AFTER);
  /** Processes in which moved memory held tensors, too: what is left of it began when these ended. */
  const divided = new Set<number>();
  for (let row = 0; row < count; row++) {
    judged(1);
    const pid = places.pid[row] as number;
    const begin = places.begin[row] as number;
    const birth_ns = places.birth_ns[row] as number;
    const whole: Extent = { begin, end: places.end[row] as number, birth_ns, death_ns: goneNs(places, row) };
    const covering = covers.get(pid) ?? [];
    const hasTensors = engineTold.has(pid);
    const number = places.what[row] as number;
    const { mapping_kind, path, is_code, is_gguf } = stays.facts[number] as MappingFacts;
    const verdict = classifyMapping({
      mapping_kind,
      path,
      size_bytes: whole.end - begin,
      born_in: phaseAt(timeline, pid, births.get(row) ?? birth_ns),
      has_tensors: hasTensors,
      is_named: path !== null && fileTold.has(pid) && covering.some((cover) => cover.by_file && meet(cover, whole)),
      is_named_elsewhere: path !== null && namedFiles.has(`${pid}/${path}`),
      is_code,
      is_gguf,
      has_labels: covering.length > 0,
      has_engine: enginePids.has(pid) || hasTensors,
      engine_worked: workedPids.has(pid),
    });
    const what = ofMapping(number, verdict);
    const bits = places.censored[row] as number;
    const isOld = (bits & CENSORED.birth) !== 0;
    let next = row;
    const pieces = uncovered(whole, covering);
    if ((bits & MOVED) !== 0 && !isWhole(pieces, whole)) divided.add(pid);
    for (const piece of pieces) {
      const outlives = piece.death_ns > windowNs;
      const isOldPiece = isOld && piece.birth_ns === birth_ns;
      const came = piece.birth_ns === birth_ns ? bits & CENSORED.came : 0;
      const left = piece.death_ns === whole.death_ns ? bits & CENSORED.left : 0;
      const censored = (isOldPiece ? CENSORED.birth : 0) | (outlives ? CENSORED.death : left) | came;
      const death_ns = Math.min(piece.death_ns, windowNs);
      if (next < 0) list.add(pid, piece.begin, piece.end, piece.birth_ns, death_ns, what, censored);
      else list.set(row, piece.begin, piece.end, piece.birth_ns, death_ns, what, censored);
      next = -1;
    }
    // Nothing is left of it.
    if (next >= 0) list.set(row, begin, begin, birth_ns, birth_ns, what, 0);
  }
  const order = inOrder(places, living(places, windowNs));
  const isKnown = (row: number): boolean => !divided.has(places.pid[row] as number);
  const movedBirths = byNewRow(stays.movedBirths, order, isKnown);
  list.take(order);
  // The list is nobody's but the regions' from here on.
  return Object.assign(places, { facts, movedBirths });
}

const MOVED = CENSORED.left | CENSORED.came;

/** True where nothing was cut out. */
function isWhole(pieces: readonly Extent[], { begin, end, birth_ns, death_ns }: Extent): boolean {
  const [one, ...more] = pieces;
  if (one === undefined || more.length > 0) return false;
  return one.begin === begin && one.end === end && one.birth_ns === birth_ns && one.death_ns === death_ns;
}

/** What is said of rows, by their places in an order; of those alone that are known. */
function byNewRow(
  said: ReadonlyMap<number, number>,
  order: Uint32Array,
  isKnown: (row: number) => boolean,
): Map<number, number> {
  const found = new Map<number, number>();
  if (said.size === 0) return found;
  for (let place = 0; place < order.length; place++) {
    const row = order[place] as number;
    const value = said.get(row);
    if (value !== undefined && isKnown(row)) found.set(place, value);
  }
  return found;
}

/** Rows with bytes and a time inside the run. */
function living({ count, begin, end, birth_ns, death_ns }: Places, windowNs: number): Uint32Array {
  const rows = everyRow(count);
  let kept = 0;
  for (let row = 0; row < count; row++) {
    const birth = birth_ns[row] as number;
    const isInside = (death_ns[row] as number) >= birth && birth <= windowNs;
    if (isInside && (end[row] as number) > (begin[row] as number)) rows[kept++] = row;
  }
  return rows.subarray(0, kept);
}

/** One region and lifetime; times as ns since the origin, `end` exclusive. */
export interface Region extends RegionFacts {
  readonly region_id: number;
  readonly pid: number;
  readonly begin: number;
  readonly end: number;
  readonly addr: bigint;
  readonly size_bytes: number;
  readonly birth_ns: number;
  readonly death_ns: number;
  readonly birth_censored: boolean;
  readonly death_censored: boolean;
  /** Its bytes went on at another address. */
  readonly has_left: boolean;
}

/** A region by its row, for those that look at few. @returns undefined for a row that there is not */
export function regionAt(regions: Regions, row: number): Region | undefined {
  const facts = regions.facts[regions.what[row] ?? -1];
  if (facts === undefined) return undefined;
  const begin = regions.begin[row] as number;
  const end = regions.end[row] as number;
  const bits = regions.censored[row] as number;
  return {
    ...facts,
    region_id: row + 1,
    pid: regions.pid[row] as number,
    begin,
    end,
    addr: BigInt(begin),
    size_bytes: end - begin,
    birth_ns: regions.birth_ns[row] as number,
    death_ns: regions.death_ns[row] as number,
    birth_censored: (bits & CENSORED.birth) !== 0,
    death_censored: (bits & CENSORED.death) !== 0,
    has_left: (bits & CENSORED.left) !== 0,
  };
}
