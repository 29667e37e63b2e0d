/** Shared libraries of the system: bun:ffi would take one that it does not find from the folder one stands in. */
import { dlopen, type FFIFunction, type Library } from "bun:ffi";
import { addressOf, cString } from "./foreign-memory.ts";
import { libc } from "./libc.ts";

const RTLD_NOW = 2;

/**
 * Opens a library by the name under which the system's loader knows it, such as `libbpf.so.1`.
 * @throws Error where the loader does not find it, or it lacks a function
 */
export function openSystemLibrary<Functions extends Record<string, FFIFunction>>(
  name: string,
  functions: Functions,
): Library<Functions> {
  // Once the loader has it, its name means what is loaded.
  if (libc.dlopen(addressOf(cString(name)), RTLD_NOW) === 0n) throw new Error(`the system has no ${name}`);
  return dlopen(name, functions);
}
