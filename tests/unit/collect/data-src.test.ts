import { expect, test } from "bun:test";
import { type DataSource, decodeDataSource } from "../../../src/collect/data-src.ts";

/**
 * Every data source word of public recordings on hardware, with perf's own words for it. Origins: PEBS of a Xeon E5-2650
 * v2 (github.com/PerfLab-EXaCT/ubench, perf-mem/), as perf 6.1 prints it; linux-kernel mailing list: "Add ins_lat to
 * python scripting" (2024, i9-12900KF), "perf mem: Print memory operation type" and "Print snoop peer flag" (2022, Arm SPE).
 */
const RECORDED = [
  [0x68100142n, "LOAD|L1 hit|None|L1 or L2 hit|No|N/A"],
  [0x10268100142n, "LOAD|L1 hit|None|L1 or L2 hit|No|N/A"],
  [0x1026a100142n, "LOAD|L1 hit|None|L1 or L2 hit|Yes|N/A"],
  [0x20268100142n, "LOAD|L1 hit|None|L1 or L2 hit|No|Data"],
  [0x40268100142n, "LOAD|L1 hit|None|L1 or L2 hit|No|Addr"],
  [0x4026a100142n, "LOAD|L1 hit|None|L1 or L2 hit|Yes|Addr"],
  [0x10668100842n, "LOAD|L3 hit|None|L1 or L2 hit|No|N/A"],
  [0x11868100242n, "LOAD|LFB hit|None|L1 or L2 hit|No|N/A"],
  [0x88000182n, "LOAD|L1 miss|N/A|Walker hit|No|N/A"],
  [0x8688000842n, "LOAD|L3 hit|Peer|Walker hit|No|N/A"],
] as const;

const SNOOPS = { none: "None", hit: "Hit", miss: "Miss", hit_modified: "HitM", forward: "Fwd", peer: "Peer" };
const TLBS = { L1: "L1", L2: "L2", L1_or_L2: "L1 or L2", walker: "Walker", os: "Fault" };

const outcome = (hit: boolean | null): string => (hit === null ? "" : hit ? " hit" : " miss");

/** The decoded word in perf's words, without the names of the fields. */
function inWords({ op, level, hit, snoop, tlb, locked, blocked }: DataSource): string {
  return [
    op.toUpperCase(),
    `${level}${outcome(hit)}`,
    snoop === null ? "N/A" : SNOOPS[snoop],
    tlb === null || tlb.level === null ? "N/A" : `${TLBS[tlb.level]}${outcome(tlb.hit)}`,
    locked === "yes" ? "Yes" : "No",
    blocked === null ? "N/A" : blocked.data ? "Data" : "Addr",
  ].join("|");
}

for (const [word, words] of RECORDED) {
  test(`the recorded word 0x${word.toString(16)} says ${words}`, () => {
    expect(inWords(decodeDataSource(word))).toBe(words);
  });
}
