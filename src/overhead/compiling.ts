/** How eagerly the runtime compiles our code: its compilers are threads that take CPUs beside the traced process. */

/**
 * A function or a loop runs so many times longer before it is compiled. Of the CPU time of the tracer in its first ten
 * seconds beside the demo a third was compilers' at 1, an eighth at 100; a loop over a full ring is compiled at either.
 */
const PATIENCE = 100;

/** To be called before a recording, and only by a process that is the tracer's alone. */
export function compileLittle(): void {
  Bun.unsafe.setJITPolicy(PATIENCE);
}

/** As the runtime does unless told: for work that nobody waits beside. */
export function compileAsUsual(): void {
  Bun.unsafe.setJITPolicy(1);
}
