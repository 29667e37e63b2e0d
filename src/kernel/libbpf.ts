/** The libbpf functions we call, C names word for word, nothing else. */
import { FFIType, type Pointer } from "bun:ffi";
import { MrmTraceError } from "../errors.ts";
import { openSystemLibrary } from "./system-library.ts";

const { i32, u32, u64, ptr, cstring, function: callback } = FFIType;

/** Name, arguments and result of each function; a test compares them with libbpf.h. */
export const LIBBPF_SYMBOLS = {
  libbpf_version_string: { args: [], returns: cstring },
  libbpf_set_print: { args: [callback], returns: ptr },
  bpf_object__open_mem: { args: [ptr, u64, ptr], returns: ptr },
  bpf_object__load: { args: [ptr], returns: i32 },
  bpf_object__close: { args: [ptr], returns: FFIType.void },
  bpf_object__find_map_by_name: { args: [ptr, cstring], returns: ptr },
  bpf_object__find_program_by_name: { args: [ptr, cstring], returns: ptr },
  bpf_object__next_program: { args: [ptr, ptr], returns: ptr },
  bpf_program__name: { args: [ptr], returns: cstring },
  bpf_program__section_name: { args: [ptr], returns: cstring },
  bpf_program__fd: { args: [ptr], returns: i32 },
  bpf_program__set_autoload: { args: [ptr, FFIType.bool], returns: i32 },
  bpf_program__set_expected_attach_type: { args: [ptr, u32], returns: i32 },
  bpf_program__attach: { args: [ptr], returns: ptr },
  bpf_program__attach_uprobe_opts: { args: [ptr, i32, cstring, u64, ptr], returns: ptr },
  bpf_program__attach_perf_event_opts: { args: [ptr, i32, ptr], returns: ptr },
  bpf_link__destroy: { args: [ptr], returns: i32 },
  bpf_map__fd: { args: [ptr], returns: i32 },
  bpf_map__set_max_entries: { args: [ptr, u32], returns: i32 },
  bpf_map__max_entries: { args: [ptr], returns: u32 },
  bpf_map__key_size: { args: [ptr], returns: u32 },
  bpf_map__value_size: { args: [ptr], returns: u32 },
  bpf_map__set_initial_value: { args: [ptr, ptr, u64], returns: i32 },
  bpf_map__reuse_fd: { args: [ptr, i32], returns: i32 },
  bpf_map_update_elem: { args: [i32, ptr, ptr, u64], returns: i32 },
  bpf_map_lookup_elem: { args: [i32, ptr, ptr], returns: i32 },
  bpf_map_delete_elem: { args: [i32, ptr], returns: i32 },
  bpf_map_get_next_key: { args: [i32, ptr, ptr], returns: i32 },
  bpf_map_lookup_batch: { args: [i32, ptr, ptr, ptr, ptr, ptr, ptr], returns: i32 },
  bpf_obj_get_info_by_fd: { args: [i32, ptr, ptr], returns: i32 },
  bpf_enable_stats: { args: [u32], returns: i32 },
} as const;

function open() {
  try {
    return openSystemLibrary("libbpf.so.1", LIBBPF_SYMBOLS).symbols;
  } catch (cause) {
    throw new MrmTraceError(
      "environment",
      "libbpf.so.1 could not be loaded",
      "install it: apt-get install libbpf1 (Debian 12, Ubuntu 24.04), dnf install libbpf (Fedora)",
      { cause },
    );
  }
}

let symbols: ReturnType<typeof open> | undefined;

/** libbpf, loaded on first use. @throws MrmTraceError environment */
export function libbpf(): ReturnType<typeof open> {
  symbols ??= open();
  return symbols;
}

/** An object of libbpf: opaque, and always an address below 2^53. */
export type Handle = Pointer;

/** What a libbpf function returned, as a handle; null where it failed. */
export function handle(returned: Pointer | bigint | null): Handle | null {
  return returned === null || returned === 0n ? null : (Number(returned) as Handle);
}
