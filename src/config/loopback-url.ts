/** An address on this machine: what is asked there leaves it for no network, whoever wrote the address. */
import { z } from "zod";

const LOOPBACK = /^(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/;

/** The parts of an http address of the loopback interface; null for any other text. */
export function loopbackUrl(text: string): URL | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.protocol !== "http:" || !LOOPBACK.test(url.hostname)) return null;
  // Who asks says nothing of a user: what is given for an option is kept with the run.
  return url.username === "" && url.password === "" && url.search === "" && url.hash === "" ? url : null;
}

export const loopbackAddress = z
  .string()
  .refine((text) => loopbackUrl(text) !== null, { error: "http://127.0.0.1:PORT/metrics expected" });
