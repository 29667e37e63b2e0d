/** Watches a process by its pid and one address until it is killed: argv PID ADDR; prints "ready" once armed. */
import { startWatch } from "../../../../src/collect/ebpf/watch/watch.ts";
import { onlineCpus } from "../../../../src/kernel/cpus.ts";
import { monotonicNs } from "../../../../src/kernel/libc.ts";

const [, , pid = "", addr = ""] = process.argv;
const region = { pid: Number(pid), addr: BigInt(addr), size_bytes: 8, stratum: "unknown/anon" };
const regions = [{ ...region, region_type: "unknown" as const, tensor: null }];
const source = await startWatch({
  regions: () => regions,
  tokenPeriodNs: () => null,
  rowsAhead: () => [],
  budgetPct: 50,
  registers: 4,
  seed: 1,
  affinityCpus: onlineCpus(),
});
source.arm(monotonicNs());
process.stdout.write("ready\n");
for (;;) {
  await Bun.sleep(5);
  source.poll(monotonicNs());
  source.arm(monotonicNs());
}
