/** What libbpf and the verifier say when they refuse, as one error with its fix. */
import { CString, JSCallback, type Pointer } from "bun:ffi";
import { MrmTraceError } from "../errors.ts";
import { addressOf, stableBytes } from "./foreign-memory.ts";
import { libbpf } from "./libbpf.ts";
import { errnoName, libc } from "./libc.ts";

const libbpfLines: string[] = [];
let printing: JSCallback | undefined;

/** Keeps what libbpf would print, so that an error can say it; synchronous, on this thread. */
export function captureLibbpfLog(): void {
  libbpfLines.length = 0;
  if (printing) return;
  const text = stableBytes(4096);
  const textAt = addressOf(text);
  printing = new JSCallback(
    (level: number, format: Pointer, arguments_: Pointer) => {
      if (level > 1) return 0;
      libc.vsnprintf(textAt, text.length, format, arguments_);
      libbpfLines.push(new CString(textAt).toString().trimEnd());
      if (libbpfLines.length > 200) libbpfLines.shift();
      return 0;
    },
    { args: ["i32", "ptr", "ptr"], returns: "i32" },
  );
  if (printing.ptr !== null) libbpf().libbpf_set_print(printing.ptr);
}

/** What to do where the kernel says no more than that we may not. */
export const SEE_RIGHTS = "run as root (sudo), or see which capability is missing: mrm-trace doctor";

/** The error for a refused BPF call: errno, the tail of the verifier's log, and the fix. */
export function refusal(what: string, errnoValue: number, verifierLog: string): MrmTraceError {
  const words = errnoName(Math.abs(errnoValue));
  const log =
    verifierLog.trim() === ""
      ? libbpfLines.slice(-12).join("\n")
      : verifierLog.trim().split("\n").slice(-25).join("\n");
  const hint =
    // What the verifier refuses is EACCES too; it has a log then.
    verifierLog.trim() === "" && (words === "EPERM" || words === "EACCES")
      ? SEE_RIGHTS
      : words === "ENOENT" || words === "ESRCH"
        ? "check that /sys/kernel/btf/vmlinux and /sys/kernel/tracing exist (CONFIG_DEBUG_INFO_BTF, tracefs)"
        : "run with --debug and report the verifier's log above";
  return new MrmTraceError("environment", `${what} failed: ${words}${log === "" ? "" : `\n${log}`}`, hint);
}
