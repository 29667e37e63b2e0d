/** A BPF object whose programs call processes by the numbers that our own /proc shows. */
import { type BpfObject, type LoadOptions, loadBpfObject } from "./bpf-object.ts";
import { pidView } from "./pid-view.ts";

/** The one variable of bpf/ids.h. */
const PID_VIEW = ".rodata.pids";

/**
 * Loads dist/bpf/NAME.bpf.o into the kernel.
 * @throws MrmTraceError environment, with errno and the end of the verifier's log
 */
export async function openBpfObject(name: string, options: Omit<LoadOptions, "initial"> = {}): Promise<BpfObject> {
  const view = await pidView();
  return await loadBpfObject(name, view === null ? options : { ...options, initial: { [PID_VIEW]: view } });
}
