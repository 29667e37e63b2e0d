/** Probes that are taken away while they have nothing new to tell, or are not asked for, and put back: a call that is probed costs its caller a trap. */
import { openFileBytes } from "../../elf/file-bytes.ts";
import type { Engine, Presence } from "../engine.ts";

/** Probes that are in a file. */
export interface ProbeLink extends Disposable {
  /** They go a moment later, and who asked waits for no grace period of the kernel: some 0.6 s, in which nothing would be watched. */
  closeAside(): void;
}

export interface RestingProbes extends Disposable {
  /** Links probes of a file now, unless they are there on request, and whenever they are wanted again. @throws MrmTraceError environment, where they cannot be linked now */
  add(engine: Engine, presence: Presence, path: string, link: (path: string) => ProbeLink): void;
  /** Puts those of an engine back, or has them taken away. @returns false where some could not be put back */
  set(engine: Engine, presence: Presence, wanted: boolean): boolean;
}

interface Resting {
  readonly engine: Engine;
  readonly presence: Presence;
  readonly link: () => ProbeLink;
  current: ProbeLink | null;
}

/** None yet. */
export function restingProbes(): RestingProbes {
  const all: Resting[] = [];
  const files = new DisposableStack();

  return {
    add(engine, presence, path, link) {
      // Probes hold their file; while there are none, its number could be given to another.
      const file = openFileBytes(path);
      const held = file === null ? path : files.use(file).heldPath;
      const current = presence === "onRequest" ? null : link(held);
      all.push({ engine, presence, link: () => link(held), current });
    },
    set(engine, presence, wanted) {
      let done = true;
      for (const probes of all) {
        if (probes.engine !== engine || probes.presence !== presence) continue;
        if ((probes.current !== null) === wanted) continue;
        if (!wanted) {
          probes.current?.closeAside();
          probes.current = null;
          continue;
        }
        try {
          probes.current = probes.link();
        } catch {
          done = false;
        }
      }
      return done;
    },
    [Symbol.dispose]() {
      for (const { current } of all) current?.[Symbol.dispose]();
      files.dispose();
    },
  };
}
