/** The engines that are recognised; a file may hold several of them, and a process tree too. */
import type { Engine } from "./engine.ts";
import { llamaCpp } from "./llama-cpp/llama-cpp.ts";
import { pytorch } from "./pytorch/pytorch.ts";
import { vllm } from "./vllm/vllm.ts";

export const ENGINES: readonly Engine[] = [llamaCpp, pytorch, vllm];
