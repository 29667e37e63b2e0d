/** Long work that may be ended between two of its steps. */

/** Waits for a turn of the loop of events, between two of which signals are heard. @throws what the signal carries */
export async function heard(signal: AbortSignal): Promise<void> {
  await new Promise((resume) => setImmediate(resume));
  signal.throwIfAborted();
}
