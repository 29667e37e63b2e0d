/** What the kernel program copies at each probe, by the offsets of a library. */
import { type CapturePlan, capturePlan } from "../probing/capture-plan.ts";
import { lookupParts } from "./expert-reads.ts";
import { COPIED_BYTES, GO_BATCH, type Offsets } from "./offsets.ts";
import { placedParts } from "./placed-pieces.ts";
import { indexOffsets } from "./written-cells.ts";

export type Captures = Readonly<
  Record<
    | "none"
    | "buffer"
    | "tensor"
    | "lookup"
    | "path"
    | "batch"
    | "position"
    | "params"
    | "goBatch"
    | "goArguments"
    | "graph"
    | "scheduledGraph",
    CapturePlan
  >
>;

function plansOf({ ggml, params, batch }: Offsets): Captures {
  const { copied } = ggml;
  return {
    none: capturePlan(),
    /** The buffer at argument 0, or the one returned: always the first part. */
    buffer: capturePlan({ form: "bytes", from: 0, bytes: copied.buffer }),
    tensor: capturePlan(...placedParts(ggml)),
    /** A call that looks rows up by their numbers. */
    lookup: capturePlan(...lookupParts(ggml)),
    path: capturePlan({ form: "string", from: 0, bytes: COPIED_BYTES.path }),
    /** What the arrays of llama_batch hold, which is passed by value. */
    batch: capturePlan({ form: "batch", offsets: batch }),
    /** A position, which argument 2 points to. */
    position: capturePlan({ form: "bytes", from: 2, bytes: COPIED_BYTES.position }),
    /** llama_context_params, passed by value. */
    params: capturePlan({ form: "bytes", from: "structure", bytes: params.bytes }),
    /** What Ollama's own engine hands to a forward pass, by value. */
    goBatch: { ...capturePlan({ form: "batch", offsets: GO_BATCH }), isGo: true },
    goArguments: { ...capturePlan(), isGo: true },
    graph: graphPlan(ggml, 0),
    /** A graph that stands behind the scheduler to which it is given. */
    scheduledGraph: graphPlan(ggml, 1),
  };
}

/** A graph, the head of its first node, and the rows of the cache that it writes. */
function graphPlan(ggml: Offsets["ggml"], from: 0 | 1): CapturePlan {
  return capturePlan(
    { form: "bytes", from, bytes: ggml.copied.graph },
    { form: "bytes", from, bytes: ggml.copied.node, follow: [ggml.graph.nodes, 0] },
    { form: "indexes", offsets: indexOffsets(ggml) },
  );
}

/** The kernel program keeps a plan once: the same offsets have the same plans. */
const made = new Map<string, Captures>();

/** @throws RangeError where no record has room for what these offsets make it copy */
export function capturesOf(offsets: Offsets): Captures {
  const { buffers, ...ggml } = offsets.ggml;
  const key = JSON.stringify([
    ggml.tensor,
    ggml.graph,
    ggml.operations,
    ggml.copied,
    buffers[0].usage,
    offsets.params.bytes,
    offsets.batch,
  ]);
  let captures = made.get(key);
  if (captures === undefined) {
    captures = plansOf(offsets);
    made.set(key, captures);
  }
  return captures;
}
