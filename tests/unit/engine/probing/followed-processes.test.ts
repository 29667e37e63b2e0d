import { expect, test } from "bun:test";
import type { Engine, EngineBuild, EngineProcess } from "../../../../src/engine/engine.ts";
import { followedProcesses } from "../../../../src/engine/probing/followed-processes.ts";
import type { RawRecord } from "../../../../src/engine/probing/raw-record.ts";

const PID = 7;
const build = (soname: string): EngineBuild => ({ soname, buildId: null });

/** An engine of which it is noted by which libraries each of its processes is read. */
function followed() {
  const readBy: (readonly EngineBuild[])[] = [];
  const engine: Engine = {
    name: "engine",
    programs: [],
    symbols: [],
    probesOf: () => [],
    aboutBuild: () => ({}),
    follow(_, builds) {
      const mine = [...builds];
      readBy.push(mine);
      const process: Partial<EngineProcess> = {
        useBuild: (one) => void mine.push(one),
        take: () => "kept",
        flush: () => {},
        takeRows: () => ({ tensors: [], steps: [] }),
      };
      return process as EngineProcess;
    },
  };
  const none = () => null;
  return { readBy, processes: followedProcesses(engine, none, none, none) };
}

const record = (execEpoch: number) => ({ pid: PID, execEpoch }) as RawRecord;

test("what a process told is read by its libraries also where it was gone before any of it was read", () => {
  const { readBy, processes } = followed();
  processes.mapped(PID, build("one.so"));
  processes.forget(PID);
  processes.take(record(1));
  expect(readBy).toEqual([[build("one.so")]]);
});

test("libraries of a process that is gone are none of another one of its number", () => {
  const { readBy, processes } = followed();
  processes.mapped(PID, build("one.so"));
  processes.forget(PID);
  processes.mapped(PID, build("other.so"));
  processes.retireForgotten();
  processes.take(record(2));
  expect(readBy).toEqual([[build("other.so")]]);

  const later = followed();
  later.processes.mapped(PID, build("one.so"));
  later.processes.forget(PID);
  later.processes.retireForgotten();
  later.processes.take(record(2));
  expect(later.readBy).toEqual([[]]);
});
