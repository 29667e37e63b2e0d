/** What every BPF program of ours needs of the kernel, whoever loads it. */
import { check } from "../../schema/check.ts";
import type { Check } from "../../schema/examination.ts";

/** The first kernel with cookies of perf events (bpf_get_attach_cookie), which tell watches apart. */
const OLDEST = [5, 15] as const;

function version(release: string | null): readonly [number, number] | null {
  const match = /^(\d{1,4})\.(\d{1,4})/.exec(release ?? "");
  return match === null ? null : [Number(match[1]), Number(match[2])];
}

const isBefore = ([a, b]: readonly [number, number], [c, d]: readonly [number, number]): boolean =>
  a < c || (a === c && b < d);

export function judgeVersion({
  release,
  architecture,
}: {
  readonly release: string | null;
  readonly architecture: string;
}): Check {
  const found = version(release);
  const data = { release, architecture };
  if (found === null) return check("kernel", "warn", "the kernel does not say its version", { fix: "uname -r", data });
  const name = `Linux ${release} on ${architecture === "x64" ? "x86-64" : architecture}`;
  if (isBefore(found, OLDEST)) {
    const summary = `${name}: watches need ${OLDEST.join(".")} or later`;
    return check("kernel", "fail", summary, { fix: "boot a newer kernel, such as that of Debian 12 (6.1)", data });
  }
  const slower = isBefore(found, [6, 6]) ? ": engine probes attach and detach one by one (6.6 does all at once)" : "";
  return check("kernel", "ok", name + slower, { data });
}

export function judgeBtf({ btf }: { readonly btf: boolean }): Check {
  if (btf) return check("btf", "ok", "/sys/kernel/btf/vmlinux is there", { data: { btf } });
  return check("btf", "fail", "/sys/kernel/btf/vmlinux is missing: no BPF program fits this kernel", {
    fix: "boot a kernel with CONFIG_DEBUG_INFO_BTF=y, as distributions build it",
    data: { btf },
  });
}
