/** A file without a name or a place on a disk, for what another process is to hand over. */
import { MrmTraceError } from "../errors.ts";
import { addressOf, cString } from "../kernel/foreign-memory.ts";
import { errno, errnoName, type Fd, libc, ownFd } from "../kernel/libc.ts";

/** A child gets it where we hand it on, and no other does. */
const MFD_CLOEXEC = 1;

/** Makes one, empty. @param name what /proc says of it @throws MrmTraceError environment where the kernel gives none */
export function memoryFile(name: string): Fd {
  const fd = libc.memfd_create(addressOf(cString(name)), MFD_CLOEXEC);
  if (fd >= 0) return ownFd(fd);
  throw new MrmTraceError("environment", `no file in memory: ${errnoName(errno())}`, "allow this user more open files");
}
