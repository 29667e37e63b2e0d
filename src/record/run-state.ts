/** What is known of the target while the run goes on, from whichever collector knows it best. */
import type { Collectors } from "../collect/collectors.ts";
import type { EbpfState } from "../collect/ebpf/ebpf.ts";

export type RunState = EbpfState;

/** Without the eBPF collector processes are those that /proc showed, and nothing is known of an engine. */
export function runState({ ebpf, process }: Collectors): RunState {
  if (ebpf !== null) return ebpf.state();
  return {
    pids: process.pids(),
    treeEnded: process.treeEnded(),
    probeCostNs: null,
  };
}
