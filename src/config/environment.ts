/** Options from `MRM_TRACE_*`: `MRM_TRACE_WATCH_REGISTERS=2` is `--watch-registers 2`. */
import { MrmTraceError } from "../errors.ts";
import { isBoolean } from "./flags.ts";
import { nearestWord } from "./nearest-word.ts";
import { demoSchema, refusal, runSchema } from "./schema.ts";

export const ENVIRONMENT_PREFIX = "MRM_TRACE_";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The variable of an option. */
export function variableOf(option: string): string {
  return ENVIRONMENT_PREFIX + option.toUpperCase();
}

const TRUTH: Readonly<Record<string, boolean>> = { "1": true, true: true, "0": false, false: false };

/** @throws MrmTraceError usage */
function truth(variable: string, text: string): boolean {
  const value = TRUTH[text.toLowerCase()];
  if (value !== undefined) return value;
  throw new MrmTraceError(
    "usage",
    `${variable}: true or false expected, but received "${text}"`,
    `export ${variable}=1`,
  );
}

/**
 * What the environment gives of a schema's options, checked one by one.
 * @throws MrmTraceError usage, naming the variable
 */
export function optionsOfEnvironment(
  schema: typeof runSchema | typeof demoSchema,
  env: Environment,
): Record<string, unknown> {
  const given: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(schema.shape)) {
    const variable = variableOf(name);
    const text = env[variable];
    if (text === undefined) continue;
    const value = isBoolean(option) ? truth(variable, text) : text;
    const parsed = option.safeParse(value);
    if (!parsed.success) {
      throw refusal(variable, JSON.stringify(text), option, parsed.error.issues[0]?.message ?? "not valid");
    }
    given[name] = value;
  }
  return given;
}

/** Variables that look like a misspelt option, each with the right one. */
export function misspeltVariables(env: Environment): { variable: string; meant: string }[] {
  const options = [...Object.keys(runSchema.shape), ...Object.keys(demoSchema.shape)];
  const variables = new Set(options.map(variableOf));
  return Object.keys(env)
    .filter((variable) => variable.startsWith(ENVIRONMENT_PREFIX) && !variables.has(variable))
    .flatMap((variable) => {
      // What all have in common makes none of them nearer.
      const option = nearestWord(variable.slice(ENVIRONMENT_PREFIX.length), options);
      return option === null ? [] : [{ variable, meant: variableOf(option) }];
    });
}
