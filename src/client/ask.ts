/** One request to a server on this machine, on a connection of its own. */

/** @param body of a POST, as JSON; without one it is a GET @param name by which the server may call the request */
export function ask(url: string, signal: AbortSignal, body?: unknown, name: string | null = null): Promise<Response> {
  const connection = { connection: "close", ...(name === null ? {} : { "x-request-id": name }) };
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
