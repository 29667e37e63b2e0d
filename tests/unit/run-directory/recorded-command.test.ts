import { describe, expect, test } from "bun:test";
import { recordedCommand, recordedCommandText } from "../../../src/run-directory/recorded-command.ts";

const SECRET = "s3cr3tValue";
const masked = (...words: string[]): string[] => recordedCommand(words, "masked");

/** Words of a command, and what is kept of them. */
const HIDDEN: readonly (readonly [typed: readonly string[], kept: readonly string[]])[] = [
  [
    ["--api-key", SECRET],
    ["--api-key", "***"],
  ],
  [[`--token=${SECRET}`], ["--token=***"]],
  [
    ["-token", SECRET],
    ["-token", "***"],
  ],
  [[`a title --token=${SECRET} -x`], ["a title --token=*** -x"]],
  [[`OPENAI_API_KEY=${SECRET}`], ["OPENAI_API_KEY=***"]],
  [[`PGPASSWORD=${SECRET} and more`], ["PGPASSWORD=***"]],
  [[`MYSQL_PWD=${SECRET}`], ["MYSQL_PWD=***"]],
  [[`AWS_SECRET_ACCESS_KEY=${SECRET}`], ["AWS_SECRET_ACCESS_KEY=***"]],
  [[`SECRET_KEY_BASE=${SECRET}`], ["SECRET_KEY_BASE=***"]],
  [[`HFTOKEN2=${SECRET}`], ["HFTOKEN2=***"]],
  [
    ["--hf-token", SECRET, "-m", "x.gguf"],
    ["--hf-token", "***", "-m", "x.gguf"],
  ],
  [
    ["--openaiApiKey", SECRET],
    ["--openaiApiKey", "***"],
  ],
  [
    ["--password", "1234"],
    ["--password", "***"],
  ],
  [
    ["-H", `Authorization: Bearer ${SECRET}`],
    ["-H", "Authorization: ***"],
  ],
  [
    ["-H", `X-Api-Key: ${SECRET}`],
    ["-H", "X-Api-Key: ***"],
  ],
  [
    ["-u", `me:${SECRET}`],
    ["-u", "me:***"],
  ],
  [[`https://me:${SECRET}@host/x`], ["https://me:***@host/x"]],
  [[`https://me:p@${SECRET}@host/x`], ["https://me:***@host/x"]],
  [[`https://me:${SECRET}@host/x?token=${SECRET}`], ["https://me:***@host/x?token=***"]],
  [["https://0123456789abcdef@host/x"], ["https://***@host/x"]],
  [[`--url=https://host/x?a=1&access_token=${SECRET}&b=2`], ["--url=https://host/x?a=1&access_token=***&b=2"]],
  [[`{"api_key": "${SECRET}", "n": 3}`], ['{"api_key": ***, "n": 3}']],
  [
    ["-c", `HF_TOKEN=${SECRET} python x.py`],
    ["-c", "HF_TOKEN=***"],
  ],
  [
    ["-c", `cd x; python x.py --api-key ${SECRET}`],
    ["-c", "cd x; python x.py --api-key ***"],
  ],
  [
    ["-c", `os.environ["HF_TOKEN"] = "${SECRET}"`],
    ["-c", 'os.environ["HF_TOKEN"] = ***'],
  ],
  [[`x hf_${SECRET} y`], ["x *** y"]],
  [["hf_abcdefghijklmnop"], ["***"]],
  [["sk-proj-Abc123"], ["***"]],
  [["ghp_0123456789abcdefghijABCDEFGHIJ012345"], ["***"]],
  [["AKIAIOSFODNN7EXAMPLE"], ["***"]],
  [["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_1"], ["***"]],
  [["-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----"], ["***"]],
];

describe("what looks like a secret is not kept", () => {
  for (const [typed, kept] of HIDDEN) {
    test(typed.join(" "), () => {
      expect(masked("program", ...typed)).toEqual(["program", ...kept]);
    });
  }

  test("and none of its letters, where words with spaces lost their borders", () => {
    const lines = HIDDEN.map(([typed]) => typed.join(" ")).filter((line) => line.includes(SECRET));
    expect(lines.length).toBeGreaterThan(15);
    for (const line of lines) expect(recordedCommandText(`program ${line}`, "masked")).not.toContain(SECRET);
  });

  test("masking what is masked changes nothing", () => {
    for (const [typed] of HIDDEN) {
      const once = masked("program", ...typed);
      expect(recordedCommand(once, "masked")).toEqual(once);
    }
  });
});

test("an argument of any length is looked through in no time", () => {
  const length = 128 * 1024;
  for (const unit of [
    "a",
    "a:",
    "a.",
    "sk-",
    "hf_",
    "eyJ-",
    "a=",
    "a-",
    "a--",
    "token=",
    "-a ",
    " ",
    "a://",
    "-----BEGIN ",
    "bearer ",
    '"',
  ]) {
    const began = performance.now();
    masked(unit.repeat(length / unit.length));
    expect(performance.now() - began).toBeLessThan(2000);
  }
});

/** Words that look a little like secrets, and that a reader of a run needs. */
const SHOWN: readonly (readonly string[])[] = [
  ["llama-server", "-m", "model.gguf", "--port", "8080", "-c", "4096", "--api-key-file", "/etc/llama.key"],
  ["--max-tokens", "128", "--n-predict", "32", "--prompt-tokens=66", "--tokenizer", "bert-base"],
  ["--eos-token", "2", "--override-kv", "tokenizer.ggml.add_bos_token=bool:false"],
  ["--token", "--verbose"],
  ["env", "PWD=/home/me", "HF_HOME=/models", "OMP_NUM_THREADS=1", "python", "-m", "vllm", "hf_transfer"],
  ["http://127.0.0.1:8080/v1", "ssh://git@host/x", "-u", "1000:1000"],
  ["sh", "-c", "for i in 1 2; do echo $i: done; done"],
  ["-p", "Tell me of keys, tokens and passwords."],
  ["--monkey", "banana", "--keyboard", "us", "--author", "me", "--cache-type-k", "q8_0"],
];

test("what is no secret is kept as it was typed", () => {
  for (const words of SHOWN) expect(masked(...words)).toEqual([...words]);
});

test("the whole command line is kept where it is asked for, and nothing of it where that is", () => {
  const words = ["program", "--token", SECRET];
  expect(recordedCommand(words, "full")).toEqual(words);
  expect(recordedCommand(words, "none")).toEqual([]);
  expect(recordedCommandText(words.join(" "), "full")).toBe(words.join(" "));
  expect(recordedCommandText(words.join(" "), "none")).toBe("");
});
