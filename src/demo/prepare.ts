/** What the demo needs in its cache, made by a process of the user whose cache it is: root writes nothing there. */
import { join } from "node:path";
import { z } from "zod";
import { EXIT_CODES, MrmTraceError } from "../errors.ts";
import { RUNTIME } from "../runtime.ts";
import { type InvokingUser, invokingUser, withoutPrivileges } from "../target/invoking-user.ts";
import { eachLine, firstText } from "./child-output.ts";
import { ensureDemoModel } from "./demo-model.ts";
import { ensureDemoEngine, type Preparation } from "./install.ts";
import { MODEL_PARAMS } from "./model/shape.ts";
import { MODEL_TYPES } from "./model/weight-type.ts";

/** An answer is two paths, or an error with its hint. */
const MOST_ANSWER_BYTES = 65_536;
const MOST_LINE_CHARACTERS = 4096;

const requestSchema = z.object({
  cacheDir: z.string(),
  /** The model to write; null where the user has one. */
  spec: z.object({ params: z.enum(MODEL_PARAMS), type: z.enum(MODEL_TYPES), seed: z.number() }).nullable(),
});
export type DemoNeeds = z.infer<typeof requestSchema>;

const preparedSchema = z.object({ engineDir: z.string(), modelPath: z.string().nullable() });
/** Paths of the engine's folder and of the model, null where none was asked for. */
export type PreparedDemo = z.infer<typeof preparedSchema>;

const answerSchema = z.union([
  z.object({ prepared: preparedSchema }),
  z.object({
    error: z.object({ code: z.string(), message: z.string(), hint: z.string() }),
  }),
]);

/**
 * Sees that engine and model are in the cache.
 * @throws MrmTraceError environment, or what `signal` carries
 */
export async function prepareDemo(needs: DemoNeeds, preparation: Preparation): Promise<PreparedDemo> {
  const user = invokingUser();
  return user === null ? await prepare(needs, preparation) : await prepareAs(user, needs, preparation);
}

async function prepare({ cacheDir, spec }: DemoNeeds, preparation: Preparation): Promise<PreparedDemo> {
  const engineDir = await ensureDemoEngine(cacheDir, preparation);
  return { engineDir, modelPath: spec === null ? null : await ensureDemoModel(cacheDir, spec, preparation) };
}

async function prepareAs(user: InvokingUser, needs: DemoNeeds, { signal, notice }: Preparation): Promise<PreparedDemo> {
  const argv = [...withoutPrivileges(user), ...RUNTIME, join(import.meta.dir, "prepare.ts")];
  const child = Bun.spawn(argv, {
    stdin: Buffer.from(JSON.stringify(needs)),
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, ...user.environment },
    ...(signal && { signal }),
  });
  const [stdout, last] = await Promise.all([
    firstText(child.stdout, MOST_ANSWER_BYTES),
    eachLine(child.stderr, MOST_LINE_CHARACTERS, notice),
  ]);
  await child.exited;
  signal?.throwIfAborted();
  const answer = answerSchema.safeParse(parsed(stdout));
  if (!answer.success) {
    const hint = "install mrm-trace and Bun where the user who calls sudo may read them";
    throw new MrmTraceError("environment", `the demo could not be prepared as that user: ${last}`, hint);
  }
  if ("prepared" in answer.data) return answer.data.prepared;
  const { code, message, hint } = answer.data.error;
  throw new MrmTraceError(
    code in EXIT_CODES && code !== "ok" ? (code as MrmTraceError["code"]) : "failure",
    message,
    hint,
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

async function answerParent(): Promise<number> {
  const abort = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(name, () => abort.abort());
  try {
    const needs = requestSchema.parse(JSON.parse(await Bun.stdin.text()));
    const notice = (line: string): void => void process.stderr.write(`${line}\n`);
    const prepared = await prepare(needs, { signal: abort.signal, notice });
    await Bun.write(Bun.stdout, JSON.stringify({ prepared }));
    return EXIT_CODES.ok;
  } catch (error) {
    const { code, message, hint } =
      error instanceof MrmTraceError
        ? error
        : { code: "failure", message: error instanceof Error ? error.message : String(error), hint: "run it again" };
    await Bun.write(Bun.stdout, JSON.stringify({ error: { code, message, hint } }));
    return EXIT_CODES.failure;
  }
}

if (import.meta.main) process.exit(await answerParent());
