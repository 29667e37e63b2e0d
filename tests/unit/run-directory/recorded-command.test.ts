import { describe, expect, test } from "bun:test";
import { isRandom } from "../../../src/run-directory/random-words.ts";
import { recordedCommand, recordedCommandText } from "../../../src/run-directory/recorded-command.ts";
import { seededDraws } from "../../../src/statistics/prng.ts";

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
  [["me:p4ss@db:5432/x"], ["me:***@db:5432/x"]],
  [["--dsn=me:p4ss@db:5432/x"], ["--dsn=me:***@db:5432/x"]],
  [
    ["-H", `Cookie: a=1; sid=${SECRET}`],
    ["-H", "Cookie: ***"],
  ],
  [[`https://host/x?sv=1&sig=${SECRET}%3D`], ["https://host/x?sv=1&sig=***"]],
  [["https://hooks.slack.com/services/T00/B00/abcDEF"], ["https://hooks.slack.com/services/***"]],
  [["https://discord.com/api/webhooks/12345/abc-DEF_1"], ["https://discord.com/api/webhooks/12345/***"]],
  [["ya29.a0AfH6SMBx1234567"], ["***"]],
  [[`dapi${"0123456789abcdef".repeat(2)}`], ["***"]],
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

/** Words without a name or a form of their own: 24 letters and digits of both cases, 32 and 40 of hex, keys in base64. */
const RANDOM = [
  "Zk3vQ9xTb2LmW8rYp5NcHd7J",
  "7f3a9c0e5b1d4826af90c3e7d5b21846",
  "d0b2c4f7a9e15386bd0f2a4c6e8093b5d7f1a2c4",
  "A8XK2P0VQ9M4T7B1Z6C3W5N8R2J0HD4F",
  "tq3F0xK9/aB7m+Zc5Lw2pR8uYv1nE4hJ6sD0gTqX==",
  "q7-Rk2VfX9_bLm0TzPw4Ys8CnHd6JgAe1",
];

describe("words that look drawn at random are not kept", () => {
  for (const word of RANDOM) {
    test(word, () => {
      expect(masked("program", word, "-m", "x.gguf")).toEqual(["program", "***", "-m", "x.gguf"]);
      expect(masked("program", `--other=${word}`, `X=${word}`)).toEqual(["program", "--other=***", "X=***"]);
      expect(masked("sh", "-c", `use "${word}" now`)).toEqual(["sh", "-c", 'use "***" now']);
      expect(recordedCommandText(`program ${word} -m x.gguf`, "masked")).toBe("program *** -m x.gguf");
    });
  }

  test("most of those that are drawn here, and no word that people put together", () => {
    const random = seededDraws(1);
    const drawn = (letters: string, length: number): string =>
      Array.from({ length }, () => letters[Math.floor(random() * letters.length)]).join("");
    const [hex, small] = ["0123456789abcdef", "0123456789abcdefghijklmnopqrstuvwxyz"];
    const both = `${small}ABCDEFGHIJKLMNOPQRSTUVWXYZ`;
    for (const [letters, length, least] of [
      [hex, 32, 990],
      [hex, 64, 990],
      [small, 32, 900],
      [both, 24, 850],
      [both, 40, 950],
    ] as const) {
      const found = Array.from({ length: 1000 }, () => drawn(letters, length)).filter(isRandom).length;
      expect([letters.length, length, found >= least, found]).toEqual([letters.length, length, true, found]);
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
    "a1B2",
    "a/",
    "a@",
    "a:a@",
    "cookie=a;",
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
  ["-hf", "unsloth/Qwen3-30B-A3B-Instruct-2507-GGUF:Q4_K_M", "--alias", "DeepSeek-R1-Distill-Qwen-32B-Q4KM"],
  ["serve", "meta-llama/Meta-Llama-3.1-8B-Instruct", "--served-model-name", "Llama3Instruct8BQ4KM0v2"],
  ["--revision", "d0b2c4f7a9e15386bd0f2a4c6e8093b5d7f1a2c4", "--checksum=7f3a9c0e5b1d4826af90c3e7d5b21846"],
  ["docker", "run", "image:22.04@sha256:7f3a9c0e5b1d4826af90c3e7d5b218467f3a9c0e5b1d4826af90c3e7d5b21846"],
  ["/models/models--x/snapshots/d0b2c4f7a9e15386bd0f2a4c6e8093b5d7f1a2c4/model-00001-of-00002.safetensors"],
  ["GPU-8f6d2c1a-3b4e-4f5a-9c7d-0e1f2a3b4c5d", "2026-11-23T05:14:15.000Z", "1234567890123456789012345678"],
  ["snapshots/d0b2c4f7a9e15386bd0f2a4c6e8093b5d7f1a2c4", "user@host.example.org:/path", "0x7fffffffe000"],
  ["--override-tensor", "blk.[0-9]+.ffn_up_exps.weight=CPU", "-ot", "exps=CPU", "--max-model-len", "131072"],
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
