/** The few calls of node-llama-cpp that the demo makes; it is installed beside us, not with us. */

export interface LlamaSequence {
  /** Tokens in the KV cache. */
  readonly nextTokenIndex: number;
  clearHistory(): Promise<void>;
  evaluate(
    tokens: readonly number[],
    options: { readonly temperature: number; readonly seed: number; readonly yieldEogToken: boolean },
  ): AsyncIterableIterator<number>;
}

export interface LlamaContext {
  readonly contextSize: number;
  readonly currentThreads: number;
  getSequence(): LlamaSequence;
}

export interface LlamaModel {
  readonly tokens: { readonly bos: number | null; readonly shouldPrependBosToken: boolean };
  tokenize(text: string): readonly number[];
  detokenize(tokens: readonly number[]): string;
  isSpecialToken(token: number): boolean;
  isEogToken(token: number): boolean;
  createContext(options: {
    readonly contextSize: number;
    readonly sequences: number;
    readonly threads: number;
    readonly flashAttention: boolean | "auto";
    readonly experimentalKvCacheKeyType: "F16";
    readonly experimentalKvCacheValueType: "F16";
  }): Promise<LlamaContext>;
}

export interface Llama {
  loadModel(options: { readonly modelPath: string }): Promise<LlamaModel>;
  dispose(): Promise<void>;
}

export interface LlamaModule {
  getLlama(options: {
    readonly gpu: false;
    readonly build: "never";
    readonly maxThreads: number;
    readonly logLevel: "info";
    readonly logger: (level: string, message: string) => void;
  }): Promise<Llama>;
}
