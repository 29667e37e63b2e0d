/** Where llama.cpp lies as a library: in packages of Python and of Node, and among the system's. Nothing is run; whoever may write there is not believed. */
import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { openFileBytes } from "../elf/file-bytes.ts";
import { invokingUser } from "../target/invoking-user.ts";
import { eachFileOnce, type FoundLibrary } from "./found-library.ts";
import { namesIn } from "./names-in.ts";
import { type PythonPlaces, packageRoots, packageVersion } from "./package-roots.ts";

export interface LlamaPlaces extends PythonPlaces {
  readonly cwd: string;
  /** File in which the loader keeps what it found; null for none. */
  readonly loaderCache: string | null;
  /** Folders of the system's libraries. */
  readonly libraryFolders: readonly string[];
}

const LIBRARY = /^libllama(?:\.[\w.]{1,40})?\.so(?:\.\d{1,9}){0,3}$/;
const CACHED = /^\/.{1,4000}\/libllama(?:\.[\w.]{1,40})?\.so(?:\.\d{1,9}){0,3}$/;
const GGML = [/^libggml-base[\w.]{0,40}\.so[\d.]{0,30}$/, /^libggml-cpu[\w.-]{0,40}\.so[\d.]{0,30}$/] as const;
/** Of builds that have ggml in one piece. */
const WHOLE_GGML = /^libggml[\w.]{0,40}\.so[\d.]{0,30}$/;
const PLAIN = /^[\w@.-]{1,80}$/;
const VERSION = /^\d[\w.+!-]{0,60}$/;

/** How environments of Python are called that lie in the folder of what uses them. */
const USUAL = [".venv", "venv"] as const;
const MOST_PARENTS = 32;
const MOST_BYTES = 1 << 20;

const named = (name: string, version: string | null): string => (version === null ? name : `${name} ${version}`);

/** What stands in a small file; empty where there is none. */
function textIn(path: string): string {
  using bytes = openFileBytes(path);
  return bytes === null ? "" : new TextDecoder("latin1").decode(bytes.slice(0, MOST_BYTES));
}

/** Files of ggml beside a library of llama.cpp: of the variants for processors one, as all have the same functions. */
function ggmlBeside(folder: string): string[] {
  const [base, cpu, whole] = [...GGML, WHOLE_GGML].map((pattern) => namesIn(folder, pattern)[0]);
  return [base, cpu, whole].filter((name) => name !== undefined).map((name) => join(folder, name));
}

/** The library in a folder, by the plainest of its names. */
function llamaLibraryIn(folder: string): string | null {
  const [name] = namesIn(folder, LIBRARY);
  return name === undefined ? null : join(folder, name);
}

function libraryAt(path: string, name: string): FoundLibrary {
  return { name, path, parts: ggmlBeside(dirname(path)) };
}

function libraryBelow(folder: string, name: () => string): FoundLibrary[] {
  const path = llamaLibraryIn(folder);
  return path === null ? [] : [libraryAt(path, name())];
}

function inPython(root: string): FoundLibrary[] {
  const python = () => named("llama-cpp-python", packageVersion(root, "llama_cpp_python"));
  const one = join(root, "xllamacpp");
  return [
    ...libraryBelow(join(root, "llama_cpp", "lib"), python),
    ...libraryBelow(join(root, "llama_cpp"), python),
    // One library that has all of it.
    ...namesIn(one, /^xllamacpp[\w.-]{0,80}\.so$/).map((file) =>
      libraryAt(join(one, file), named("xllamacpp", packageVersion(root, "xllamacpp"))),
    ),
  ];
}

/** The version in a package.json that is whole and small. */
function nodeVersion(folder: string): string | null {
  const version = /"version"\s*:\s*"([^"]{1,80})"/.exec(textIn(join(folder, "package.json")))?.[1];
  return version !== undefined && VERSION.test(version) ? version : null;
}

function inNode(modules: string): FoundLibrary[] {
  const main = join(modules, "node-llama-cpp");
  const built = join(main, "llama", "localBuilds");
  const name = (folder: string) => () => named("node-llama-cpp", nodeVersion(folder));
  // pnpm leads there by a link.
  const linked = folderOf(main);
  const scopes = [modules, ...(linked === null ? [] : [linked])].map((folder) => join(folder, "@node-llama-cpp"));
  const prebuilt = scopes
    .flatMap((scope) => namesIn(scope, PLAIN).map((folder) => join(scope, folder)))
    .map((folder) => ({ folder, bins: join(folder, "bins") }));
  return [
    ...namesIn(built, PLAIN).flatMap((folder) => libraryBelow(join(built, folder, "Release"), name(main))),
    ...[{ folder: main, bins: join(main, "bins") }, ...prebuilt].flatMap(({ folder, bins }) =>
      namesIn(bins, PLAIN).flatMap((bin) => libraryBelow(join(bins, bin), name(folder))),
    ),
  ];
}

/** `node_modules` of a folder and of those above it, as Node looks for them. */
function moduleFolders(cwd: string): string[] {
  const folders: string[] = [];
  for (let folder = cwd; folders.length < MOST_PARENTS; folder = dirname(folder)) {
    folders.push(join(folder, "node_modules"));
    if (folder === dirname(folder)) break;
  }
  return folders;
}

function inSystem({ loaderCache, libraryFolders }: LlamaPlaces): FoundLibrary[] {
  const cached = loaderCache === null ? [] : textIn(loaderCache).split("\0");
  const paths = [...cached.filter((path) => CACHED.test(path)), ...libraryFolders.map(llamaLibraryIn)];
  return paths.filter((path) => path !== null).map((path) => libraryAt(path, path.slice(path.lastIndexOf("/") + 1)));
}

/** Each file once, a bounded number of them. */
export function llamaLibraries(places: LlamaPlaces): FoundLibrary[] {
  return eachFileOnce([
    ...packageRoots(places).flatMap(inPython),
    ...moduleFolders(places.cwd).flatMap(inNode),
    ...inSystem(places),
  ]);
}

/** The folder in which what a path leads to lies; null where it is gone. */
function folderOf(path: string): string | null {
  try {
    return dirname(realpathSync(path));
  } catch {
    return null;
  }
}

/** Files beside a program, or in `lib` beside its folder, that have its functions. */
export function librariesOfProgram(program: string): string[] {
  const folder = folderOf(program);
  if (folder === null) return [];
  for (const beside of [folder, join(dirname(folder), "lib")]) {
    const library = llamaLibraryIn(beside);
    if (library !== null) return [library, ...ggmlBeside(beside)];
  }
  return [];
}

/** Folders in which the loader looks by itself, and where distributions put what has no place in these. */
function systemFolders(): string[] {
  const kinds = ["lib", "lib64", `lib/${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu`];
  return ["/usr/local", "/usr"].flatMap((prefix) =>
    kinds.flatMap((kind) => [join(prefix, kind), join(prefix, kind, "llama.cpp")]),
  );
}

/** Where llama.cpp would be found here. */
export function llamaPlaces(env: NodeJS.ProcessEnv = process.env, cwd = process.cwd()): LlamaPlaces {
  return {
    path: (env.PATH ?? "").split(delimiter),
    environments: [
      ...[env.VIRTUAL_ENV ?? "", env.CONDA_PREFIX ?? ""].filter(isAbsolute),
      ...USUAL.map((name) => join(cwd, name)),
    ],
    home: invokingUser(env)?.home ?? homedir(),
    cwd,
    loaderCache: "/etc/ld.so.cache",
    libraryFolders: systemFolders(),
  };
}
