/** Timer samples of a running process become accesses, by decoding its own code. */
import type { CodeMap } from "../../ebpf/watch/code-map.ts";
import type { TimerSink } from "../file/sample-reader.ts";
import { accessAt } from "./effective-address.ts";
import { registersOf } from "./registers.ts";

/** Places of code that are no numbers to the code map. */
const CODE_LIMIT = 1n << 53n;

export function createTimerSink(code: CodeMap): TimerSink {
  return (pid, ip, words, mask) => {
    if (ip >= CODE_LIMIT) return null;
    const place = code.locate(pid, Number(ip));
    const offset = place === null ? null : place.object.elf.fileOffset(place.vaddr);
    if (place === null || offset === null) return null;
    return accessAt(place.object.bytes.subarray(offset), ip, registersOf(words, mask));
  };
}
