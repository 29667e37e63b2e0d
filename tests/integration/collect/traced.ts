/** A program under the lifecycle and fault sources, for the integration tests of both. */
import { type FaultSource, openFaults } from "../../../src/collect/ebpf/faults/faults.ts";
import { type LifecycleSource, openLifecycle } from "../../../src/collect/ebpf/lifecycle/lifecycle.ts";
import type { Batch } from "../../../src/columnar/batch.ts";
import type { MappingEvent } from "../../../src/regions/mapping-row.ts";
import { lineReader } from "../../fixtures/line-reader.ts";

export interface Traced extends AsyncDisposable {
  readonly pid: number;
  readonly rows: MappingEvent[];
  readonly faults: Batch<"fault">[];
  readonly lifecycle: LifecycleSource;
  readonly faultSource: FaultSource;
  /** First line that the program prints from here on, empty where it prints no more. */
  line(): Promise<string>;
  /** Drains what has come. */
  drain(): void;
  /** Ends the program's stdin and waits for its end. */
  finish(): Promise<number>;
}

/** Runs a command held until everything is attached, and drains it every few milliseconds. */
export async function trace(command: readonly string[]): Promise<Traced> {
  const hold = 'read -r go || exit 125; exec "$@"';
  const child = Bun.spawn(["/bin/sh", "-c", hold, "sh", ...command], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const owned = new DisposableStack();
  const lifecycle = owned.use(await openLifecycle(child.pid));
  const faultSource = owned.use(await openFaults(lifecycle.targetsFd));
  const rows: MappingEvent[] = [];
  const faults: Batch<"fault">[] = [];
  const drain = (): void => {
    rows.push(...lifecycle.drain());
    faults.push(...structuredClone(faultSource.drain()));
  };
  lifecycle.addProcess(child.pid);
  drain();
  const timer = setInterval(drain, 5);
  const nextLine = lineReader(child.stdout);
  child.stdin.write("go\n");
  child.stdin.flush();
  return {
    pid: child.pid,
    rows,
    faults,
    lifecycle,
    faultSource,
    drain,
    line: async () => (await nextLine()) ?? "",
    async finish() {
      child.stdin.end();
      const code = await child.exited;
      faultSource.detach();
      drain();
      return code;
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      child.kill("SIGKILL");
      await child.exited;
      owned.dispose();
    },
  };
}

/** Values of one column over all batches. */
export function columnOf(batches: readonly Batch[], name: string): (number | bigint)[] {
  return batches.flatMap((batch) => {
    const column = batch.columns[name];
    return column && "data" in column ? Array.from(column.data as Iterable<number | bigint>) : [];
  });
}
