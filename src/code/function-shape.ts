/** Where the instructions of a function begin in front of a place, and where its branches go. */
import { Decoder, DecoderOptions, FlowControl, Instruction } from "iced-x86";

export interface FunctionShape {
  /** In front of the place, in order, from it on; none where decoding does not arrive at the place. */
  readonly starts: readonly number[];
  readonly targets: ReadonlySet<number>;
}

/** @param code from `begin` on, which counts from the place */
export function functionShape(code: Uint8Array, begin: number): FunctionShape {
  const decoder = new Decoder(64, code, DecoderOptions.None);
  const instruction = new Instruction();
  const starts: number[] = [];
  const targets = new Set<number>();
  decoder.ip = BigInt.asUintN(64, BigInt(begin));
  let arrives = false;
  try {
    while (decoder.canDecode) {
      const offset = begin + decoder.position;
      if (offset < 0) starts.push(offset);
      else arrives ||= offset === 0;
      decoder.decodeOut(instruction);
      if (instruction.isInvalid) break;
      const flow = instruction.flowControl;
      if (flow === FlowControl.ConditionalBranch || flow === FlowControl.UnconditionalBranch) {
        targets.add(Number(BigInt.asIntN(64, instruction.nearBranchTarget)));
      }
    }
  } finally {
    instruction.free();
    decoder.free();
  }
  return { starts: arrives ? starts : [], targets };
}
