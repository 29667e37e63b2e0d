/** What a run cannot know of a build of an engine that lacks functions, or does not name them. */
import { llamaCpp } from "../engine/llama-cpp/llama-cpp.ts";
import { PROBE, PROBE_POINTS, type Probe } from "../engine/llama-cpp/probes.ts";
import { PROBE_POINTS as TORCH_POINTS, PROBE as TORCH_PROBE } from "../engine/pytorch/probes.ts";
import { pytorch } from "../engine/pytorch/pytorch.ts";
import { vllm } from "../engine/vllm/vllm.ts";

/** Functions of which one is enough, as a reader knows it, and what is lost without it. */
interface Need {
  readonly name: string;
  readonly symbols: readonly string[];
  readonly lost: string;
}

const symbolsOf = (probes: readonly Probe[]): string[] =>
  PROBE_POINTS.filter(({ probe }) => probes.includes(probe)).map(({ symbol }) => symbol);

/** @param older probes by which the same was called in older builds, whose names nobody needs to be told */
function llamaNeed(probes: readonly Probe[], lost: string, older: readonly Probe[] = []): Need {
  return { name: symbolsOf(probes).join(" or "), symbols: symbolsOf([...probes, ...older]), lost };
}

function torchNeed(name: string, probe: number, lost: string): Need {
  return {
    name,
    symbols: TORCH_POINTS.filter((point) => point.probe === probe).flatMap(({ symbols }) => symbols),
    lost,
  };
}

const NEEDS: ReadonlyMap<string, readonly Need[]> = new Map([
  [
    llamaCpp.name,
    [
      llamaNeed([PROBE.decode, PROBE.process], "no steps, tokens and rows"),
      llamaNeed([PROBE.memory_seq_rm], "not how long rows live", [PROBE.older_seq_rm]),
      llamaNeed([PROBE.tensor_alloc], "no tensors"),
    ],
  ],
  [
    pytorch.name,
    [
      torchNeed("at::_ops::embedding::call", TORCH_PROBE.embedding, "no steps and tokens"),
      torchNeed("structured_cat_out_cpu::impl of torch 2.15", TORCH_PROBE.append, "no dynamic KV caches"),
      torchNeed("at::_ops::index_copy_::call", TORCH_PROBE.write, "no static KV caches"),
    ],
  ],
  [
    vllm.name,
    [{ name: "cpu_attention_with_kv_cache of 0.32", symbols: vllm.symbols, lost: "nothing but what PyTorch tells" }],
  ],
]);

/** @param symbols functions that were found in all files of the build */
export function lostWithout(engine: string, symbols: readonly string[]): string[] {
  const missing = (NEEDS.get(engine) ?? []).filter((need) => !need.symbols.some((name) => symbols.includes(name)));
  return missing.map(({ name, lost }) => `without ${name} ${lost}`);
}
