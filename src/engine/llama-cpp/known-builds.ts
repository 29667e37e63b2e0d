/** Builds of llama.cpp and ggml whose offsets are known, as data; `bun scripts/known-build.ts LIBRARY NAME` makes an entry. */

export interface KnownBuild {
  readonly build: string;
  /** By which a library is told to be of this build; each null where it is not. */
  readonly buildId: string | null;
  readonly soname: string | null;
  /** Names of offsets in offsets.ts: of ggml's structures, and of a context's parameters where the library makes contexts. */
  readonly ggml: "ggml-0.25";
  readonly params: "llama.cpp-0.5" | null;
}

export const KNOWN_BUILDS: readonly KnownBuild[] = [
  {
    build: "ggml 0.25.1",
    buildId: "a1082c427a231d613bf0927d11a588737db2d250",
    soname: null,
    ggml: "ggml-0.25",
    params: null,
  },
  {
    build: "llama.cpp v0.5.0",
    buildId: "3b71ad7d7c18482d74c453dc90ea6ea2958da52a",
    soname: "libllama.v0.5.0.so",
    ggml: "ggml-0.25",
    params: "llama.cpp-0.5",
  },
  {
    build: "llama.cpp b10434",
    buildId: "a39ca75bd2e1dba98276a9e69387e3fb581c3cca",
    soname: null,
    ggml: "ggml-0.25",
    params: "llama.cpp-0.5",
  },
  {
    build: "llama.cpp b11063",
    buildId: "093f29465c094a0b3e60216f55169f0dde60f676",
    soname: null,
    ggml: "ggml-0.25",
    params: "llama.cpp-0.5",
  },
  {
    build: "llama.cpp b11549",
    buildId: "8aedfa31af1c52fe94168556eb93295be603e89e",
    soname: null,
    ggml: "ggml-0.25",
    params: "llama.cpp-0.5",
  },
  {
    build: "ggml 0.20.0",
    buildId: "682434e402cb8ec1e45205bcafa53c1b5578a330",
    soname: null,
    ggml: "ggml-0.25",
    params: null,
  },
];
