/**
 * Starts to measure the CPU time of this process, which other programs do not lengthen. Returns a function that returns
 * the milliseconds since.
 */
export function measureCpu(): () => number {
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
}
