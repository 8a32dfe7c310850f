import { useEffect, useState } from "preact/hooks";
import { type Facts, isAllowed, type Need } from "./model.ts";

/** A value that several components show. */
export interface Store<T> {
  get(): T;
  set(value: T): void;
  subscribe(listener: () => void): () => void;
}

export function createStore<T>(value: T): Store<T> {
  const listeners = new Set<() => void>();
  let current = value;
  return {
    get: () => current,
    set: next => {
      current = next;
      for (const listener of [...listeners]) listener();
    },
    subscribe: listener => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** What the page knows of the system, for components that no view passes it to. */
export const system = createStore<Facts | undefined>(undefined);

/** Returns the value of a store, and renders again when it changes. */
export function useStore<T>(store: Store<T>): T {
  const [value, setValue] = useState(() => store.get());
  useEffect(() => {
    setValue(() => store.get());
    return store.subscribe(() => setValue(() => store.get()));
  }, [store]);
  return value;
}

/** Returns whether the operator's token has a role. */
export function useAllowed(need: Need | undefined): boolean {
  const facts = useStore(system);
  return need === undefined || facts === undefined || isAllowed(facts, need);
}
