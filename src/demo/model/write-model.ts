/** Writes a random-weight GGUF: real shapes and a real vocabulary, weights that mean nothing. */
import { existsSync, statfsSync } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { MrmTraceError, reasonText } from "../../errors.ts";
import { requireReplaceable } from "../../run-directory/replaceable.ts";
import { isFull } from "../../run-directory/unwritable.ts";
import { formatBytes } from "../../units.ts";
import { aligned, headerBytes, type PlacedTensor, placeTensors } from "./header.ts";
import { randomWeights, type WeightSource } from "./random-weights.ts";
import { type ModelParams, parameterCount, type Shape, shapeOf } from "./shape.ts";
import { type ModelType, WEIGHT_TYPES, type WeightType } from "./weight-type.ts";

export interface ModelSpec {
  readonly params: ModelParams;
  readonly type: ModelType;
  /** Integer, 0 to 2^32 - 1. */
  readonly seed: number;
  /** What is not as in the shape of `params`, such as a small vocabulary. */
  readonly apart?: Partial<Shape>;
}

export interface WrittenModel {
  readonly path: string;
  readonly bytes: number;
  readonly parameters: number;
}

export interface WritingOptions {
  readonly force?: boolean;
  readonly signal?: AbortSignal;
  /** Told before each tensor how much is done. */
  readonly onShare?: (share: number) => void;
}

/** `general.name` of the file that a spec gives. */
export function modelName({ params, type, seed, apart = {} }: ModelSpec): string {
  const words = Object.entries(apart).map(([name, value]) => ` ${name} ${value}`);
  return `random ${params} ${type} seed ${seed}${words.join("")}`;
}

/** Bytes of the file that a spec gives, without writing it. */
export function modelBytes(spec: ModelSpec): number {
  const { header, tensors } = plan(spec);
  return header.length + dataBytes(tensors);
}

function plan(spec: ModelSpec): { header: Uint8Array<ArrayBuffer>; tensors: PlacedTensor[]; type: WeightType } {
  const shape = shapeOf(spec);
  const type = WEIGHT_TYPES[spec.type];
  const tensors = placeTensors(shape, type);
  return { header: headerBytes(modelName(spec), shape, type, tensors), tensors, type };
}

function dataBytes(tensors: readonly PlacedTensor[]): number {
  const last = tensors.at(-1);
  return last ? aligned(last.offset + last.bytes) : 0;
}

/**
 * Writes the model to `path`, 0600, under a temporary name beside it until it is whole.
 * The same spec gives the same bytes; at most a few megabytes of it are in memory.
 * @throws MrmTraceError usage (the file exists and `force` is not set, or is a device, pipe or folder), environment (full or unwritable), or what `signal` carries
 */
export async function writeModel(
  spec: ModelSpec,
  path: string,
  { force = false, signal, onShare = () => {} }: WritingOptions = {},
): Promise<WrittenModel> {
  if (!force && existsSync(path)) {
    throw new MrmTraceError("usage", `${path} exists already`, "give --force to replace it, or another --out");
  }
  requireReplaceable(path, "name a file with --out");
  const { header, tensors, type } = plan(spec);
  const bytes = header.length + dataBytes(tensors);
  const temporary = join(dirname(path), `.${basename(path)}.${process.pid}.tmp`);
  try {
    requireSpace(dirname(path), bytes);
    const file = await open(temporary, "wx", 0o600);
    try {
      await writeAll(file, header);
      const source = randomWeights(type, spec.seed);
      for (const [place, tensor] of tensors.entries()) {
        onShare(tensor.offset / bytes);
        await writeTensor(file, tensor, source, place, signal);
      }
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (cause) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw cause instanceof MrmTraceError ? cause : writeError(path, bytes, cause);
  }
  return { path, bytes, parameters: parameterCount(shapeOf(spec)) };
}

async function writeTensor(
  file: FileHandle,
  tensor: PlacedTensor,
  source: WeightSource,
  place: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const elements = tensor.shape.reduce((product, n) => product * n, 1);
  if (tensor.role === "norm") await writeAll(file, new Uint8Array(new Float32Array(elements).fill(1).buffer));
  else {
    for (const chunk of source(elements, place)) {
      signal?.throwIfAborted();
      await writeAll(file, chunk);
    }
  }
  const padding = aligned(tensor.bytes) - tensor.bytes;
  if (padding > 0) await writeAll(file, new Uint8Array(padding));
}

/** A write may be short, on a filling disk for one. */
async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    done += (await file.write(bytes, done, bytes.length - done)).bytesWritten;
  }
}

/** Refuses before gigabytes are written what would fail after them. */
function requireSpace(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  if (free >= bytes) return;
  throw new MrmTraceError(
    "environment",
    `${folder} has ${formatBytes(free)} free, the model needs ${formatBytes(bytes)}`,
    "free some space, choose a folder on another disk, or a smaller --params or --type",
  );
}

function writeError(path: string, bytes: number, cause: unknown): MrmTraceError {
  const reason = reasonText(cause);
  return new MrmTraceError(
    "environment",
    `cannot write the model to ${path}: ${reason}`,
    isFull(cause)
      ? `free ${formatBytes(bytes)} on that disk`
      : "choose a path in a folder that exists and that you may write",
    { cause },
  );
}
