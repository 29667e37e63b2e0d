import { describe, expect, test } from "bun:test";

const SIGNALS = new URL("../../../src/record/signals.ts", import.meta.url).pathname;

/** Runs a script that watches signals in a process of its own, and sends it these, one after each line that it prints. */
async function answerTo(script: string, signals: readonly NodeJS.Signals[]) {
  const code = `import { watchSignals } from ${JSON.stringify(SIGNALS)};
    const say = (text: string) => process.stdout.write(text + "\\n");
    ${script}`;
  const child = Bun.spawn([process.execPath, "-e", code], { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  let text = "";
  let sent = 0;
  for await (const chunk of child.stdout) {
    text += new TextDecoder().decode(chunk);
    for (; sent < signals.length && sent < text.split("\n").length - 1; sent++) child.kill(signals[sent]);
  }
  return { exitCode: await child.exited, signal: child.signalCode, lines: text.trim().split("\n") };
}

const HOLD = "setTimeout(() => process.exit(77), 20_000);";

describe("signals during a run", () => {
  test("are told once, by name, and do not end the process", async () => {
    const script = `const signals = watchSignals();
      signals.onFirst((signal) => { say("first " + signal); setTimeout(() => process.exit(9), 50); });
      say("received " + signals.received); ${HOLD}`;
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      const { exitCode, lines } = await answerTo(script, [signal]);
      expect([exitCode, lines]).toEqual([9, ["received null", `first ${signal}`]]);
    }
  });

  test("end the process at the second, with the code of that signal", async () => {
    const script = `const signals = watchSignals(); signals.onFirst((signal) => say(signal)); say("ready"); ${HOLD}`;
    expect(await answerTo(script, ["SIGTERM", "SIGINT"])).toMatchObject({ exitCode: 130, signal: null });
    expect(await answerTo(script, ["SIGINT", "SIGTERM"])).toMatchObject({ exitCode: 143, signal: null });
  });

  test("let a last word be said before the second ends the process", async () => {
    const script = `const signals = watchSignals(); signals.onFirst((signal) => say(signal));
      signals.onSecond((signal) => say("at once " + signal)); say("ready"); ${HOLD}`;
    const { exitCode, lines } = await answerTo(script, ["SIGTERM", "SIGINT"]);
    expect([exitCode, lines]).toEqual([130, ["ready", "SIGTERM", "at once SIGINT"]]);
  });

  test("are told to whoever asks later", async () => {
    const script = `const signals = watchSignals();
      signals.onFirst(() => setTimeout(() => signals.onFirst((s) => { say("late " + s + signals.received); process.exit(9); }), 10));
      say("ready"); ${HOLD}`;
    expect((await answerTo(script, ["SIGINT"])).lines).toEqual(["ready", "late SIGINTSIGINT"]);
  });

  test("are seen by one watch, whoever asks for it", async () => {
    const script = `const early = watchSignals();
      early.onFirst(() => setTimeout(() => { using later = watchSignals(); say("later " + later.received); process.exit(9); }, 10));
      say("ready"); ${HOLD}`;
    expect((await answerTo(script, ["SIGINT"])).lines).toEqual(["ready", "later SIGINT"]);
  });

  test("end the process as ever when nobody watches any more", async () => {
    const script = `{ using signals = watchSignals(); } say("ready"); ${HOLD}`;
    expect((await answerTo(script, ["SIGTERM"])).signal).toBe("SIGTERM");
  });
});

describe("a target that is gone before it was traced", () => {
  const GONE = `new MrmTraceError("target", "the target ended before it was traced", "start it again")`;
  const errors = new URL("../../../src/errors.ts", import.meta.url).pathname;
  const told = (error: string, act: string) => `
    const { MrmTraceError } = await import(${JSON.stringify(errors)});
    const { whyNotBegun } = await import(${JSON.stringify(SIGNALS)});
    const signals = watchSignals(); ${act}
    const error = await whyNotBegun(${error}, signals);
    say(error.code + ": " + error.message); process.exit(0);`;

  test("has the signal for its reason that came to both, also where nobody has heard it yet", async () => {
    const { lines } = await answerTo(told(GONE, `process.kill(process.pid, "SIGINT");`), []);
    expect(lines).toEqual(["interrupted: SIGINT came before the target was traced: nothing was recorded"]);
  });

  test("ended by itself where no signal came, and another error stays what it is", async () => {
    expect((await answerTo(told(GONE, ""), [])).lines).toEqual(["target: the target ended before it was traced"]);
    const other = told(
      `new MrmTraceError("environment", "no room", "free some")`,
      `process.kill(process.pid, "SIGINT");`,
    );
    expect((await answerTo(other, [])).lines).toEqual(["environment: no room"]);
  });
});
