/** One request to a server on this machine, on a connection of its own. */

/** @param body of a POST, as JSON; without one it is a GET */
export function ask(url: string, signal: AbortSignal, body?: unknown): Promise<Response> {
  const connection = { connection: "close" };
  const sent =
    body === undefined
      ? { headers: connection }
      : {
          method: "POST",
          body: JSON.stringify(body),
          headers: { "content-type": "application/json", ...connection },
        };
  return fetch(url, { ...sent, keepalive: false, signal });
}
