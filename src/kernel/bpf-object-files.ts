/** The compiled BPF objects: where they are, and which they are. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { headerMark } from "../schema/c-header.ts";

// From this file, never from the working folder: the package ships the objects beside the source.
const FOLDER = join(import.meta.dir, "../../dist/bpf");
const SUFFIX = ".bpf.o";

/** Path of the object that is compiled from bpf/NAME.bpf.c. */
export function bpfObjectPath(name: string): string {
  return join(FOLDER, `${name}${SUFFIX}`);
}

/** Whether the bytes of an object were compiled with the header that this source would write: what it copies lies where we look for it. */
export function hasThisHeader(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(`${headerMark()}\0`);
}

/** SHA-256 of every object that is there, by name; none where nothing was built. */
export function bpfObjectHashes(): Record<string, string> {
  let files: string[];
  try {
    files = readdirSync(FOLDER);
  } catch {
    return {};
  }
  const names = files.filter((file) => file.endsWith(SUFFIX)).map((file) => file.slice(0, -SUFFIX.length));
  return Object.fromEntries(
    names.sort().map((name) => {
      const hash = new Bun.CryptoHasher("sha256").update(readFileSync(bpfObjectPath(name)));
      return [name, hash.digest("hex")];
    }),
  );
}
