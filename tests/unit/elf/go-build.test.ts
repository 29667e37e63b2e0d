import { describe, expect, test } from "bun:test";
import { bytesInMemory, byteView } from "../../../src/elf/byte-view.ts";
import { readGoBuild } from "../../../src/elf/go-build.ts";

/** A string behind its length, as Go writes it. */
function counted(text: string): Buffer {
  const length: number[] = [];
  for (let rest = text.length; ; rest >>= 7) {
    length.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
    if (rest <= 0x7f) break;
  }
  return Buffer.concat([Buffer.from(length), Buffer.from(text, "latin1")]);
}

function section(facts: string, flags = 2): Buffer {
  const head = Buffer.alloc(32);
  head.write("\xff Go buildinf:", "latin1");
  head[14] = 8;
  head[15] = flags;
  return Buffer.concat([head, counted("go1.26.8"), counted(`0123456789abcdef${facts}0123456789abcdef`)]);
}

function read(bytes: Buffer, name = ".go.buildinfo") {
  const found = { name, type: 1, flags: 0, vaddr: 0, offset: 0, sizeBytes: bytes.length, link: 0 };
  return readGoBuild(byteView(bytesInMemory(bytes)), () => [found]);
}

describe("what a program of Go says of its build", () => {
  const long = `\ndep\tgithub.com/other/module\tv9.9.9\th1:=${"x".repeat(300)}\nbuild\t-compiler=gc\n`;
  const facts = (version: string) => `path\tgithub.com/a/b\nmod\tgithub.com/a/b\t${version}\th1:sum=${long}`;

  test("is its module and the version of that, not those of what it uses", () => {
    expect(read(section(facts("v0.17.4")))).toEqual({ module: "github.com/a/b", version: "v0.17.4" });
    expect(read(section(facts("(devel)")))).toEqual({ module: "github.com/a/b", version: null });
  });

  test("is nothing where it is no such section, of an older form, cut, or no name", () => {
    const whole = section(facts("v1.0.0"));
    expect(read(whole, ".data")).toBeNull();
    expect(read(section(facts("v1.0.0"), 0))).toBeNull();
    for (let length = 0; length < whole.length; length += 7) expect(read(whole.subarray(0, length))).toBeNull();
    expect(read(section(facts("v1.0.0").replace("mod\t", "mod\t\x1b[31m")))).toBeNull();
    expect(read(section("path\tcommand-line-arguments\n"))).toBeNull();
  });
});
