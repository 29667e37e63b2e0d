/** Our own client of a server that we launched, as a collector: a row for each request, when it has ended. */
import { join } from "node:path";
import { type Drive, driveMessageSchema, type EndedExchange } from "../../client/drive-messages.ts";
import { parsedJson } from "../../client/parsed-json.ts";
import { requestRow } from "../../client/request-row.ts";
import type { Batch } from "../../columnar/batch.ts";
import { batchFromRows } from "../../columnar/rows.ts";
import { RUNTIME, RUNTIME_ENV } from "../../runtime.ts";
import type { LedgerRow } from "../../schema/ledger.ts";
import type { RowOf } from "../../schema/row.ts";
import { invokingUser, withoutPrivileges } from "../../target/invoking-user.ts";
import { formatCounted, formatNs } from "../../units.ts";
import type { Collector } from "../collector.ts";

const DRIVER = join(import.meta.dir, "../../client/driver.ts");
/** How long the client may take to end after it was told to. */
const GRACE_MS = 2000;
/** No message has more: it is a row of numbers. */
const MOST_LINE_CHARS = 4096;

/** How a request ended that was not answered. */
function wayOf({ status, http_status }: EndedExchange): string {
  if (status === "refused") return `refused with HTTP ${http_status}`;
  return status === "silent" ? "given up, as the server said nothing," : status;
}

export interface ClientCollector extends Collector {
  /**
   * Resolves when it asks no more: why before all was asked, or that nothing was answered; null where neither is so, or where it
   * was told to end.
   */
  readonly over: Promise<string | null>;
}

/** A client that asks as told once the target runs. It is a process of its own: what it takes is none of the tracer's cost. */
export function createClientCollector(settings: Drive): ClientCollector {
  const over = Promise.withResolvers<string | null>();
  const statuses: Record<string, number> = {};
  /** How requests ended that were not answered: how many in each way, and how long the longest of them lasted. */
  const unanswered = new Map<string, { requests: number; longest_ns: number }>();
  let child: Bun.Subprocess<"pipe", "pipe", "inherit"> | null = null;
  let reading: Promise<void> = Promise.resolve();
  let fresh: RowOf<"request">[] = [];
  let sent = 0;
  let kept = 0;
  let unreadable = 0;
  let failure: string | null = "it never began";
  let toldToEnd = false;
  let isOver = false;
  const whyNotAll = (): string | null => (toldToEnd ? null : failure);
  const whyInVain = (): string | null =>
    toldToEnd || kept === 0 || statuses.answered !== undefined ? null : "no request was answered";

  function take(line: string, pid: number): void {
    const message = driveMessageSchema.safeParse(parsedJson(line)).data;
    if (message === undefined) unreadable += 1;
    else if (message.says === "sent") sent = message.requests;
    else if (message.says === "over") failure = message.failure;
    else {
      const { says: _, ...ended } = message;
      fresh.push(requestRow(pid, ended));
      kept += 1;
      statuses[message.status] = (statuses[message.status] ?? 0) + 1;
      if (message.status === "answered") return;
      const way = wayOf(message);
      const { requests, longest_ns } = unanswered.get(way) ?? { requests: 0, longest_ns: 0 };
      const lasted_ns = Number(message.end_ns - message.sent_ns);
      unanswered.set(way, { requests: requests + 1, longest_ns: Math.max(longest_ns, lasted_ns) });
    }
  }

  async function read(stdout: ReadableStream<Uint8Array>, pid: number): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of stdout) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = (lines.pop() ?? "").slice(0, MOST_LINE_CHARS);
      for (const line of lines) take(line, pid);
    }
  }

  function account(isOver: boolean): LedgerRow {
    // Requests that are under way are no loss until the end.
    const dropped = isOver ? Math.max(0, sent - kept) : 0;
    return {
      stream: "request",
      source: "request",
      stage: "observe",
      way: null,
      pid: null,
      seen: Math.max(sent, kept),
      kept,
      filtered: 0,
      dropped,
      dropped_by: dropped > 0 ? { client_ended: dropped } : {},
      unseen_estimate: null,
    };
  }

  function batches(): Batch[] {
    const rows = fresh;
    fresh = [];
    return rows.length === 0 ? [] : [batchFromRows("request", rows)];
  }

  return {
    name: "client",
    over: over.promise,
    async canRun() {
      return { ok: true, sources: ["request"], whyNotBetter: "", identifies: [], blindTo: "" };
    },
    async start({ pid }) {
      child = Bun.spawn([...withoutPrivileges(invokingUser()), ...RUNTIME, DRIVER], {
        // What is asked of this machine goes through no proxy.
        env: { ...process.env, ...RUNTIME_ENV, NO_PROXY: "127.0.0.1", no_proxy: "127.0.0.1" },
        stdin: "pipe",
        stdout: "pipe",
        stderr: "inherit",
      });
      child.stdin.write(`${JSON.stringify(settings)}\n`);
      child.stdin.flush();
      failure = "its process ended";
      reading = read(child.stdout, pid);
      Promise.all([child.exited, reading])
        .finally(() => {
          isOver = true;
        })
        .then(
          () => over.resolve(whyNotAll() ?? whyInVain()),
          () => over.resolve("what it said could not be read"),
        );
    },
    batches,
    async stop() {
      if (child !== null && child.exitCode === null) {
        toldToEnd = true;
        child.kill("SIGTERM");
        const timer = setTimeout(() => child?.kill("SIGKILL"), GRACE_MS);
        await child.exited;
        clearTimeout(timer);
      }
      await reading.catch(() => {});
      over.resolve(whyNotAll() ?? whyInVain());
      return { batches: batches(), ledger: child === null ? [] : [account(true)] };
    },
    account: () => [account(false)],
    warnings() {
      const words = [...unanswered]
        .map(
          ([way, { requests, longest_ns }]) =>
            `${requests} ${way} after ${formatNs(longest_ns)}${requests > 1 ? " at most" : ""}`,
        )
        .join(", ");
      const share = statuses.answered === undefined ? "none was" : "not all were";
      const why = child === null ? null : whyNotAll();
      return [
        ...(isOver && why !== null ? [`our client ended before all was asked: ${why}`] : []),
        ...(toldToEnd && sent === 0 ? ["our client asked nothing: by the end of the run no server was ready"] : []),
        ...(unanswered.size > 0
          ? [`of ${formatCounted(kept, "request")} of our client ${share} answered: ${words}`]
          : []),
        ...(unreadable > 0 ? [`${formatCounted(unreadable, "line")} of our client could not be read`] : []),
      ];
    },
    details() {
      const { api, clients, tokens, duration_ms, requests, prompts } = settings;
      const asked = {
        clients,
        request_tokens: tokens,
        duration_ms,
        requests_asked: requests,
        prompts: "texts" in prompts ? prompts.texts.length : null,
      };
      return { client: { api, ...asked, requests: sent, ...statuses } };
    },
  };
}
