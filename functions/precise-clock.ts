/** The precise clock is set to the system's clock if they differ by more milliseconds. */
const maxDifferenceMs = 50;

/**
 * Returns a clock in milliseconds since 1970, with a fraction, that follows the system's clock. The time since the
 * start of the process alone does not: it stops while the machine is suspended, and the platform starts processes in
 * advance.
 * @param system milliseconds since 1970
 * @param elapsed milliseconds since any moment, with a fraction
 */
export function createPreciseClock(system: () => number, elapsed: () => number): () => number {
  let offset = system() - elapsed();
  return () => {
    const time = elapsed() + offset;
    const difference = system() - time;
    if (Math.abs(difference) <= maxDifferenceMs) return time;
    offset += difference;
    return time + difference;
  };
}
