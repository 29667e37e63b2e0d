/** How the rates of reads and writes are estimated, in words: told once, and by the others as far as they differ. */
import type { PassKind } from "../watched/rate/pass-rate.ts";

const OVER_TIME = [
  "Passes are counted in a window after the arming, over its time. All watches of a stratum have the same window, and strata with fewer than 16 watches have one together where that leaves each of them some: so short that next to none of them has made its last trap in it (what would be lost is at most 0.1 % of the passes), and that as much time as of 16 alike windows is in it, not that of a few long ones.",
  "Where no such window holds a pass, as where one pass has as many accesses as a watch can see, it is that of the watches with a high trap limit.",
  "When watches begin does not depend on what they see, so busy and idle moments count as they come.",
  "The sum of passes of each stratum over the sum of its time, strata by their bytes, times the bytes drawn; of a stratum whose memory is there in a part of the span, by that part.",
  "Of a generation the whole steps of `reads_per_byte_per_token` are looked at, where ten watches tell of a kind: passes in steps count by the steps of their kind in a second of the time in which the memory is there over those in a second of the windows, passes between steps by the time between steps in either. What windows happen to hold of both is resampled with the passes that come there.",
  "The interval is BCa over addresses within strata. Where few of them carry the sum it has the tails of Student's t for so few, and its upper end room for more like the largest.",
  "Where addresses are very unlike, Stringer's bound above: a byte of which none was drawn may make as many passes in a window as the lowest trap limit, or, where that has several steps, in each of them, and no more than a watch of each step, and of each token of a prompt, could count.",
  "Where fewer than ten addresses show such a pass, below: the share of the watches that show one within three times after their arming, the longest as long as a usual watch, over these times (Clopper-Pearson; however many passes follow, they are no fewer).",
  "Above, there: Stringer's bound, as a byte of which none was drawn may have as many passes in each step as any watch can count, or go on as densely as one that saw as many in one step, or, without steps, in a usual window as the longest can, or all the time as densely as any watch saw them that its last trap cut.",
  "The upper end allows for the passes that a stratum may have of which no watch saw one in the time that counts (Clopper-Pearson). Where these may be more than all that were seen, the figure is no more than bounds.",
  "Watches of which a trap was lost may have seen none, or as large a share more as they are.",
  "A program that knows of the armings shows it by windows that begin with fewer or more passes than they go on with. In part from two standard errors on, and whole from four, the interval allows for twice what they lack above and for as much below, or the other way round; above a fifth of the passes there is a bound only.",
  "Windows that end before a program goes on show nothing of that. But from a random moment on the first pass comes in a time as often as in as long a time behind it, or oftener, whatever is done: where it comes more seldom right after armings the same counts, in part from three and a half standard errors on and whole from five, as so many times are held against the next.",
  "Bytes that come into being in the span are written before a watch can be drawn from them: the upper end of writes allows for once, and where that may be more than 5 % of them there are bounds only.",
  "Right after memory came fewer windows look at it than later: each of its moments, and each whole step, counts by the inverse of the chance that a window holds it (Horvitz and Thompson), for 20 at most. Where more than 2 % of its time lies in steps in which it comes or goes, passes count by time. The interval allows for no such pass, or twice as many, in what the windows lack.",
  "What is younger than the lag of the draws behind the map cannot be drawn: the upper end allows for twice its share.",
  "KV rows by steps: sums per step over time, or the bytes of the class, from the step on in which the engine told where its cache lies, where nobody saw that come.",
  "Steps of which no row is known to be written widen the upper end of writes. Where rows may be rewritten in their places, or come back from what the engine had saved, or batches came before it was known what their context held, it is a lower bound. What a step needs bounds what it reads from below.",
] as const;

const OVER_TOKENS = [
  "As `read_bytes_per_s`, over the tokens that the steps decode in place of time.",
  "Whole steps are counted: the first ones that begin after the arming, each by the inverse of the chance that a watch holds it (Horvitz and Thompson), with no prompt between the arming and the step where that may have ended the watch. They are as many as next to no word makes the lowest number of traps in; what a word has beyond as many traps, watches with a high trap limit tell.",
  "Where steps are too long to be held whole, a step that the window holds in part has as large a part of its tokens as of its time.",
  "Steps that no window holds may have no such pass, or twice as many. So may bytes that were not drawn.",
] as const;

/** One thing each: those of reads in full, those of writes by these. */
export function rateEstimator(kind: PassKind, perToken: boolean): readonly string[] {
  if (kind === "read") return perToken ? OVER_TOKENS : OVER_TIME;
  return [`As \`${perToken ? "reads_per_byte_per_token" : "read_bytes_per_s"}\`, over passes that write.`];
}
