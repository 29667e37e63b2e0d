/** Making a run directory where others may rename and link at the same moment: it is ours alone until it is handed over. */
import {
  existsSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statfsSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { MrmTraceError, reasonText } from "../errors.ts";
import { type HeldFolder, holdFolder, shown, shownError } from "./held-folder.ts";
import { checkId, holdRun, type RunDirectory, runPaths } from "./run-directory.ts";

/** For whom a run directory is made. */
export interface Maker {
  readonly uid: number;
  /** Does something with the rights of that user. */
  readonly as: <T>(act: () => T) => T;
}

export interface MadeRun extends HeldFolder {
  readonly directory: RunDirectory;
  /** The folders above it that were made for it, the inner ones first. */
  readonly above: readonly string[];
  readonly maker: Maker;
}

const FUSE = 0x65735546;
/** Whoever we are. */
export const ourselves: Maker = { uid: process.getuid?.() ?? 0, as: (act) => act() };

/** What failed, with names of folders in place of descriptors. */
function creationError(path: string, cause: unknown, option: string): unknown {
  if (cause instanceof MrmTraceError) return shownError(cause);
  const why = shown(reasonText(cause));
  const hint = `give a folder that you may write to with ${option} DIR, or free space there`;
  return new MrmTraceError("environment", `the run directory ${path} cannot be made: ${why}`, hint, { cause });
}

function orCreationError<T>(path: string, option: string, act: () => T): T {
  try {
    return act();
  } catch (cause) {
    throw creationError(path, cause, option);
  }
}

const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined);

/** The folders from `inner` up to the `outer` one. */
function foldersUpTo(outer: string, inner: string): string[] {
  const folder = resolve(inner);
  return folder === resolve(outer) || folder === dirname(folder)
    ? [folder]
    : [folder, ...foldersUpTo(outer, dirname(folder))];
}

/** The folder of a model's runs, made where it is missing; a link in its place would lead out of the output folder. */
function holdModel(model: string, { as }: Maker): HeldFolder & Pick<MadeRun, "above"> {
  return as(() => {
    const outer = mkdirSync(model, { recursive: true, mode: 0o700 });
    try {
      return { ...holdFolder(model, model), above: outer === undefined ? [] : foldersUpTo(outer, model) };
    } catch (cause) {
      const isLink = lstatSync(model).isSymbolicLink();
      throw isLink ? new Error(`${model} is a link to another folder`, { cause }) : cause;
    }
  });
}

/** True where a folder looks like a run of ours, the only thing that --force may remove. */
function isRun(path: string): boolean {
  return existsSync(join(path, "manifest.json")) || existsSync(join(path, "capture"));
}

/** Removes an earlier run. One that a killed tracer left is root's, and nobody else can change what is in it. */
function removeRun(place: string, path: string, { as }: Maker): void {
  {
    using run = holdFolder(place, path);
    const { uid, mode } = fstatSync(run.fd);
    const isOursAlone = uid === process.getuid?.() && (mode & 0o077) === 0;
    (isOursAlone ? ourselves.as : as)(() => {
      if (!isRun(run.heldPath)) {
        const hint = "move it away, or give another --run-id";
        throw new MrmTraceError("usage", `${path} is there already and is no run of ours`, hint);
      }
      using _held = holdRun(run.heldPath);
      for (const name of readdirSync(run.heldPath)) rmSync(join(run.heldPath, name), { recursive: true, force: true });
    });
  }
  as(() => rmdirSync(place));
}

/** Removes a run that came to nothing, its name where that is still its, and what was made above it as far as nothing else is there. */
export function discardRun({ heldPath, directory, above, maker }: MadeRun): void {
  for (const name of readdirSync(heldPath)) rmSync(join(heldPath, name), { recursive: true, force: true });
  try {
    rmdirSync(directory.path);
    maker.as(() => above.forEach((folder) => void rmdirSync(folder)));
  } catch {
    // It was moved, or another is there by now.
  }
}

/**
 * Makes the folder ours, once it is sure that it is the one that was just made: what another program put in its place
 * belongs to somebody else, or holds something.
 */
function claim({ fd, heldPath }: HeldFolder, { uid }: Maker): void {
  const isEmpty = (): boolean => readdirSync(heldPath).length === 0;
  if (fstatSync(fd).uid !== uid || !isEmpty()) throw new Error("another program replaced it");
  if (uid !== process.getuid?.()) {
    if (statfsSync(heldPath).type === FUSE) throw new Error("its file system is served by a program (FUSE)");
    fchownSync(fd, 0, 0);
  }
  fchmodSync(fd, 0o700);
  const { uid: owner, mode } = fstatSync(fd);
  const ours = owner === process.getuid?.() && (mode & 0o777) === 0o700;
  if (!ours) throw new Error("its file system keeps no owners");
  // Nobody else can write to it any more.
  if (!isEmpty()) throw new Error("another program wrote to it");
}

/**
 * Makes `output/<model_id>/<run_id>/` with its capture folder, mode 0700, and holds it open until disposed. What is above
 * it is made and walked with the rights of `maker`; the folder itself is ours, so that until it is handed over nobody
 * else can change what is in it, and `heldPath` leads to it whatever becomes of its name.
 * @throws MrmTraceError usage for ids that are no names and for a run that is there already or held, environment where it cannot be made
 */
export function createRun(
  {
    output,
    model_id,
    run_id,
    force,
    option = "--output",
  }: {
    readonly output: string;
    readonly model_id: string;
    readonly run_id: string;
    readonly force: boolean;
    /** The one that names `output`. */
    readonly option?: string;
  },
  maker: Maker = ourselves,
): MadeRun {
  checkId("a model id", model_id);
  checkId("a run id", run_id);
  const model = join(output, model_id);
  const path = join(model, run_id);
  using opening = new DisposableStack();
  const folder = opening.use(orCreationError(path, option, () => holdModel(model, maker)));
  try {
    const place = join(folder.heldPath, run_id);
    const { as } = maker;
    if (force && as(() => lstatSync(place, { throwIfNoEntry: false })) !== undefined) removeRun(place, path, maker);
    // Making the folder is what claims its name: of two runs with one id, one gets EEXIST.
    as(() => mkdirSync(place, { mode: 0o700 }));
    const run = opening.use(as(() => holdFolder(place, path)));
    claim(run, maker);
    mkdirSync(join(run.heldPath, "capture"), { mode: 0o700 });
    const held = opening.move();
    const directory = runPaths(path, run.heldPath);
    return {
      ...{ directory, fd: run.fd, heldPath: run.heldPath, above: folder.above, maker },
      [Symbol.dispose]: () => held.dispose(),
    };
  } catch (cause) {
    if (codeOf(cause) !== "EEXIST") throw creationError(path, cause, option);
    const hint = "give --force to replace it, or another --run-id";
    throw new MrmTraceError("usage", `${path} is there already`, hint, { cause });
  }
}
