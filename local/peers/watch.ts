/** Lets callers wait, without polling, for a condition on state that other code changes. */
export interface Watch {
  /** Reports that the state may have changed. */
  changed(): void;
  /** Resolves as soon as `condition` is true. */
  until(condition: () => boolean): Promise<void>;
}

export function createWatch(): Watch {
  const waiting = new Set<() => void>();
  return {
    changed: () => {
      for (const check of waiting) check();
    },
    until: condition =>
      new Promise(resolve => {
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
