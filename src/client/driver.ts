/** The process of our client: what to ask on the first line of stdin, what became of it on stdout; it ends with its stdin. */
import { writeSync } from "node:fs";
import { reasonText } from "../errors.ts";
import { drive } from "./drive.ts";
import { type DriveMessage, driveSchema } from "./drive-messages.ts";

const over = new AbortController();
const giveUp = (): void => over.abort();
// Ctrl-C is for the target too, which ends by itself; who started us says when we do.
process.on("SIGINT", () => {});
process.on("SIGTERM", giveUp);

function tell(message: DriveMessage): void {
  try {
    writeSync(1, `${JSON.stringify(message)}\n`);
  } catch {
    // Who started us is gone, and nobody is there to be told.
    process.exit(0);
  }
}

/** The first line; what comes behind it is waited for, as its end is the end of who started us. */
async function firstLine(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    let text = "";
    let isRead = false;
    for await (const chunk of Bun.stdin.stream()) {
      if (isRead) continue;
      text += decoder.decode(chunk, { stream: true });
      isRead = text.includes("\n");
      if (isRead) resolve(text.slice(0, text.indexOf("\n")));
    }
    giveUp();
    resolve(text);
  };
  read().catch(giveUp);
  return await promise;
}

async function failureOfDriving(): Promise<string | null> {
  try {
    await drive(driveSchema.parse(JSON.parse(await firstLine())), tell, over.signal);
    return over.signal.aborted ? "it was told to end" : null;
  } catch (error) {
    return over.signal.aborted ? "it was told to end" : reasonText(error);
  }
}

tell({ says: "over", failure: await failureOfDriving() });
process.exit(0);
