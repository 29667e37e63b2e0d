/** THE schema of a memory device, for `mrm-trace what-if`: what each of its figures is, and who says so. */
import { z } from "zod";
import { duration, energy, rate, size } from "./values.ts";

/** The word for a figure that nobody gave a source for: what follows from it is left open. */
export const UNKNOWN = "unknown";

/** Who says a figure: those who made, standardised or measured the thing themselves, or another who tells of it. */
export const SOURCE_KINDS = ["primary", "secondary"] as const;

const source = z.string().trim().min(1).max(500).optional().describe("who says so: paper, standard or data sheet");
const kind = z
  .enum(SOURCE_KINDS)
  .optional()
  .describe("primary: the words of who made, standardised or measured it; secondary: what another says of that");
const url = z.string().trim().min(1).max(500).optional().describe("an address of the source");

/** A quantity as text with its unit; a bare number would hide which one was meant. */
function text(quantity: typeof size, example: string) {
  return (
    z
      .string({ error: `text with its unit expected, such as ${example}` })
      // What takes numbers too takes text.
      .pipe(quantity as z.ZodType<number, string>)
      .refine(Number.isFinite, "a number that this machine can hold expected")
  );
}

/** What is known of one figure: its value, or the ends between which it lies; one end may be left out. */
function figureOf<T extends z.ZodType<number>>(quantity: T, example: string) {
  const figure = z
    .strictObject({
      value: quantity.optional().describe("the figure"),
      from: quantity.optional().describe("the least it can be, where a range is given"),
      to: quantity.optional().describe("the most it can be, where a range is given"),
      source,
      kind,
      url,
    })
    .superRefine(({ value, from: least, to: most }, context) => {
      const refuse = (message: string) => context.addIssue({ code: "custom", path: [], message });
      if (value === undefined && least === undefined && most === undefined) refuse("value, from or to expected");
      if (value !== undefined && (least !== undefined || most !== undefined))
        refuse("either value, or from and to expected");
      if (least !== undefined && most !== undefined && Number(least) > Number(most)) refuse("from is above to");
    });
  return z
    .union([z.literal(UNKNOWN), figure], {
      error: `a mapping such as { value: ${example}, source: data sheet } or the word ${UNKNOWN} expected`,
    })
    .default(UNKNOWN);
}

const sizeText = () => figureOf(text(size, "16GiB"), "16GiB");
const rateText = () => figureOf(text(rate, "25.6GB/s"), "25.6GB/s");
const energyText = () => figureOf(text(energy, "3.9pJ/bit"), "3.9pJ/bit");
const timeText = () => figureOf(text(duration, "64ms"), "64ms");

export const deviceSchema = z.strictObject({
  name: z.string().trim().min(1).max(200).describe("what it is called in the answer"),
  about: z.string().trim().min(1).max(1000).optional().describe("what it is, for who reads the file"),
  capacity: sizeText().describe("how much it holds"),
  bandwidth: rateText().describe("reads and writes together"),
  read_bandwidth: rateText().describe("reads alone"),
  write_bandwidth: rateText().describe("writes alone"),
  read_latency: timeText().describe("from a read to its data"),
  write_latency: timeText().describe("from a write to when the data can be read"),
  read_energy: energyText().describe("what reading takes"),
  write_energy: energyText().describe("what writing takes"),
  retention: timeText().describe("how long data lasts without being written again, in use"),
  refreshed_by: z
    .enum(["device", "software"])
    .default("software")
    .describe("who writes data again before it is lost: the device inside itself, or software over its bus"),
  refresh_energy: energyText().describe("what one refresh inside the device takes"),
  endurance: figureOf(z.number().min(1).max(1e30), "1e9").describe("writes that a cell survives"),
  wear_levelling: z
    .boolean()
    .optional()
    .describe("whether writes are spread over all of the device; where nobody says, life has no lower end"),
});

export type Device = z.output<typeof deviceSchema>;
/** The figures of a device, in the order of the schema. */
export const DEVICE_FIGURES = [
  "capacity",
  "bandwidth",
  "read_bandwidth",
  "write_bandwidth",
  "read_latency",
  "write_latency",
  "read_energy",
  "write_energy",
  "retention",
  "refresh_energy",
  "endurance",
] as const satisfies readonly (keyof Device)[];
export type DeviceFigure = (typeof DEVICE_FIGURES)[number];
