/** report.html: one file with its data, its script and its style, which loads nothing and sends nothing. */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import { PLOTS } from "../browser/plot-list.ts";
import { printable } from "../terminal.ts";
import { answerOfRun } from "./answer-section.ts";
import { presetBorders } from "./data/device-borders.ts";
import type { PageData, RunData } from "./data/page-data.ts";
import { type FinishedRun, type ReadRun, readRun } from "./data/run-data.ts";
import { estimatesOf } from "./estimates-section.ts";
import { countIds } from "./figure-button.ts";
import { figuresOfRun } from "./figures-section.ts";
import { type Html, html, jsonScript } from "./html.ts";
import { machineOfRun } from "./machine-section.ts";
import { type PageCode, pageCode } from "./page-code.ts";
import { plotPlaces } from "./plots-section.ts";
import { regionFigures } from "./regions-section.ts";
import { requestsPlace } from "./requests-place.ts";
import { trustOfRun } from "./trust-section.ts";

/** Element of the page's data, which the script reads. */
export const DATA_ID = "data";

const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Nothing but the two texts of this file may run or style; nothing may be loaded from anywhere. */
function policy({ script, style }: PageCode): string {
  return [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

interface Section {
  readonly id: string;
  readonly title: string;
  readonly about: string;
  readonly body: (run: FinishedRun, read: ReadRun, index: number) => Html;
}

function sections(): readonly Section[] {
  const nextId = countIds("why");
  return [
    {
      id: "answer",
      title: "The answer",
      about: "What each class of data asks of a memory. Point at a figure, or focus it, to see what it rests on.",
      body: ({ report }) => answerOfRun(report, nextId),
    },
    {
      id: "map",
      title: "Addresses over time",
      about:
        "Every recorded access by time and address: gaps between regions are left out, each class has the same height. What is blank was not looked at, which is not the same as not used.",
      body: (_run, { data }, index) =>
        html`<div class="heat" data-heat="${index}"></div>${data.requests === null ? null : requestsPlace(index)}`,
    },
    {
      id: "plots",
      title: "Distributions",
      about: "What stands behind the figures. A plot that cannot be drawn says why in its place.",
      body: (_run, _read, index) => plotPlaces(index),
    },
    {
      id: "tensors",
      title: "Regions and tensors",
      about:
        "What lay in memory when the traced process had most of it, by class and layer, and every region with its life.",
      body: (_run, { single }, index) =>
        html`<div data-treemap="${index}"></div><div data-regions="${index}"></div>${regionFigures(single, nextId)}`,
    },
    {
      id: "figures",
      title: "Every figure",
      about: "The same figures as mrm-trace show --table prints: the value with its whole interval.",
      body: ({ report }) => figuresOfRun(report, nextId),
    },
    {
      id: "trust",
      title: "How far to trust it",
      about: "Validity with each reason, what watching cost the traced process, and what was lost on the way.",
      body: ({ report }) => trustOfRun(report),
    },
    {
      id: "machine",
      title: "Machine and command",
      about: "Where it ran, with which versions, and how to run it again.",
      body: ({ report, metadata }) => machineOfRun(report, metadata),
    },
  ];
}

/** A section holds all runs side by side, so that the eye compares like with like. */
function sectionOf(section: Section, runs: readonly FinishedRun[], read: readonly ReadRun[]): Html {
  const parts = runs.map((run, i) => {
    const one = read[i];
    if (one === undefined) return html``;
    const name = runs.length > 1 ? html`<h3>${printable(one.data.name)}</h3>` : null;
    return html`<div class="run">${name}${section.body(run, one, i)}</div>`;
  });
  return html`<section id="${section.id}" aria-labelledby="${section.id}-title"><h2 id="${section.id}-title">${section.title}</h2><p class="about">${section.about}</p><div class="runs">${parts}</div></section>`;
}

/** Curves that are drawn among the borders of devices. */
const AMONG_DEVICES = PLOTS.filter(({ devices }) => devices === true).flatMap(({ curves }) => curves);

/** Whether a run has a point to be drawn among devices. */
const isAmongDevices = ({ curves }: RunData): boolean =>
  "data" in curves &&
  curves.data.some(({ curve, x }) => AMONG_DEVICES.includes(curve) && x.some((place) => place !== null));

/** Names that tell the runs apart: the model, and where several have it the run too. */
function namesOf(runs: readonly FinishedRun[]): string[] {
  const models = runs.map(({ report }) => report.model_id);
  return runs.map(({ report }) => {
    const alone = models.filter((model) => model === report.model_id).length === 1;
    return alone ? report.model_id : `${report.model_id} ${report.run_id || basename(report.run_dir)}`;
  });
}

/**
 * The text of the page of one run, or of several side by side.
 * @param signal ends the work
 * @throws MrmTraceError environment where the page's code cannot be built, data_quality where a file of a run is damaged
 */
export async function pageOf(runs: readonly FinishedRun[], signal?: AbortSignal): Promise<string> {
  const code = await pageCode();
  const names = namesOf(runs);
  const read: ReadRun[] = [];
  // One after the other: each takes memory while it is read.
  for (const [i, run] of runs.entries()) read.push(await readRun(run, names[i] ?? "", signal));
  const data = read.map((one) => one.data);
  const page: PageData = { runs: data, devices: data.some(isAmongDevices) ? presetBorders() : [] };
  const all = sections();
  const title = names.join(" and ");
  const first = runs[0]?.report;
  const when = runs.length === 1 && first !== undefined ? html`<p class="id">${printable(first.run_id)}</p>` : null;
  const links = all.map(({ id, title: text }) => html`<li><a href="#${id}">${text}</a></li>`);
  const reports = runs.map(({ report }) => report);
  const body = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy(code)}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${printable(title)} · mrm-trace</title>
<style>${{ markup: code.style }}</style></head>
<body><a class="skip" href="#answer">Skip to the answer</a>
<header><p class="tool">mrm-trace</p><h1>${printable(title)}</h1>${when}<nav aria-label="Sections"><ul>${links}<li><a href="#estimates">Estimates</a></li></ul></nav></header>
<main>${all.map((section) => sectionOf(section, runs, read))}
<section id="estimates" aria-labelledby="estimates-title"><h2 id="estimates-title">How each estimate is made</h2>${estimatesOf(reports)}</section></main>
<div id="explanation" popover="manual" role="tooltip"></div>
${jsonScript(DATA_ID, page)}
<script>${{ markup: code.script }}</script>
</body></html>
`;
  return body.markup;
}
