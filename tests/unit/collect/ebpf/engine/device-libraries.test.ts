import { describe, expect, test } from "bun:test";
import { deviceLibraries } from "../../../../../src/collect/ebpf/engine/device-libraries.ts";
import { mappingRow } from "../../../../fixtures/mapping-rows.ts";

const VULKAN = "/opt/llama/libggml-vulkan.so";
const TORCH = "/venv/torch/lib/libtorch_cuda.so";
const CUDA = "/usr/lib/x86_64-linux-gnu/libcuda.so.1";

/** What is said of a process that mapped these before the tracer came (`snapshot`), or before its eyes (`file`). */
function said(kind: "snapshot" | "file", ...paths: readonly string[]): readonly string[] {
  const devices = deviceLibraries();
  devices.follow(paths.map((path, i) => mappingRow(kind, i, { path })));
  return devices.warnings();
}

describe("memory of a device", () => {
  test("that a backend of ggml had before the tracer came is not identifiable, by its library", () => {
    const paths = [
      "/opt/llama/libggml-base.so",
      "/opt/llama/libggml-cpu-haswell.so",
      VULKAN,
      "/usr/lib/libvulkan.so.1",
    ];
    expect(said("snapshot", ...paths)).toEqual([
      expect.stringMatching(
        /^llama\.cpp: which weights and KV caches lay in memory of the vulkan backend .* not identifiable/,
      ),
    ]);
    expect(said("file", ...paths)).toEqual([]);
  });

  test("that PyTorch uses is not identifiable where a driver is mapped beside its part for cards, which alone says nothing", () => {
    for (const kind of ["snapshot", "file"] as const) {
      expect(said(kind, TORCH)).toEqual([]);
      for (const [driver, name, isUsed] of [
        [CUDA, "libcuda.so", false],
        ["/dev/nvidia0", "/dev/nvidia", true],
        ["/dev/dri/renderD128", "/dev/dri/render", true],
      ] as const) {
        const [sentence, ...more] = said(kind, driver, TORCH);
        expect(more).toHaveLength(isUsed ? 1 : 0);
        expect(sentence).toContain("PyTorch: weights, KV caches and activations on a device are not identifiable");
        expect(sentence).toContain(`libtorch_cuda.so and ${name} are mapped`);
      }
    }
  });

  test("may be there where a driver is mapped by a program that has its backend linked in", () => {
    expect(said("file", CUDA)).toEqual([
      expect.stringMatching(/not identifiable, if anything does: libcuda\.so is mapped/),
    ]);
    expect(said("file", "/usr/lib/libc.so.6", "/opt/llama/libggml-blas.so")).toEqual([]);
  });

  test("is not all of it: what a device that is used reads and writes of the memory of the process is in no figure", () => {
    const what =
      "what a device reads and writes of the memory of the process by itself, such as buffers that are pinned for it, is in no figure: /dev/nvidia is mapped";
    for (const paths of [
      ["/dev/nvidiactl"],
      ["/dev/nvidia0", CUDA, TORCH],
      [CUDA, "/dev/nvidia-uvm", "/opt/llama/libggml-cuda.so"],
    ])
      expect(said("file", ...paths)).toContain(what);
    // A library of a driver is mapped where there is no device, too.
    for (const paths of [[CUDA], [CUDA, TORCH], ["/opt/llama/libggml-cuda.so"]])
      expect(said("file", ...paths)).not.toContain(what);
  });

  test("of a process is said once, also when it has ended or has another program", () => {
    const devices = deviceLibraries();
    devices.follow([mappingRow("snapshot", 1, { path: VULKAN }), mappingRow("exit", 2)]);
    devices.follow([mappingRow("snapshot", 3, { path: VULKAN }), mappingRow("snapshot", 4, { path: VULKAN })]);
    expect(devices.warnings()).toHaveLength(1);
  });
});
