/** Lets callers await a condition over state that somebody else changes, without polling. */
export interface Watch {
  /** Says that the state may have changed. */
  changed(): void;
  /** Resolves as soon as `condition` holds, at once where it already does. */
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
