/** A page that is moved or a heading that is worded anew must not leave links behind that lead nowhere. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { Glob } from "bun";

const ROOT = new URL("../../../", import.meta.url).pathname;
const PAGES = ["*.md", "docs/**/*.md", "examples/**/*.md"].flatMap((pattern) => [...new Glob(pattern).scanSync(ROOT)]);
const SOURCES = [...new Glob("src/**/*.ts").scanSync(ROOT)];

const text = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** A page without what stands between fences, where nothing is a link or a heading. */
const prose = (path: string): string => text(path).replace(/^```.*?^```/gms, "");

/** The names that a browser of repositories gives headings: small letters, hyphens for blanks, no other signs. */
function anchors(path: string): Set<string> {
  const headings = [...prose(path).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .replace(/\]\([^)]*\)/g, "")
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-"),
  );
  return new Set(headings);
}

/** Whether a link leads to a file or folder that is there, and to a heading of its. */
function leads(from: string, link: string): boolean {
  const [path = "", anchor] = link.split("#");
  const file = path === "" ? from : relative(ROOT, join(ROOT, dirname(from), path));
  if (!existsSync(join(ROOT, file))) return false;
  return anchor === undefined || anchors(file).has(anchor);
}

test("every link of a page leads to a file that is there, and to a heading of its", () => {
  const links = PAGES.flatMap((page) =>
    [...prose(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, link = ""]) => ({ page, link })),
  );
  expect(links.length).toBeGreaterThan(200);
  expect(links.filter(({ page, link }) => !leads(page, link))).toEqual([]);
});

test("every page that the program names is there, with its heading", () => {
  const named = SOURCES.flatMap((source) =>
    [...text(source).matchAll(/\b(docs\/[\w-]+\.md(?:#[\w-]+)?)/g)].map(([, link = ""]) => ({ source, link })),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter(({ link }) => !leads("README.md", link))).toEqual([]);
});
