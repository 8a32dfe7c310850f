/** Lets callers wait, without polling, for a condition on state that other code changes. */
export function createWatch() {
  const waiting = new Set<() => void>();
  return {
    /** Reports that the state may have changed. */
    changed: () => {
      for (const check of waiting) check();
    },
    /** Resolves as soon as `condition` is true. */
    until: (condition: () => boolean) =>
      new Promise<void>(resolve => {
        const check = () => {
          if (!condition()) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
  };
}
