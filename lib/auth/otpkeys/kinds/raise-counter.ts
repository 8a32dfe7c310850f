import type { KeyState } from "./contract.ts";

/** Returns the state with its counter raised to at least that of `minimum`. The counter never decreases, the drift stays (A10). */
export function raiseCounter(state: KeyState, minimum: KeyState): KeyState {
  const counter = Math.max(state.counter, minimum.counter);
  const { resync, ...kept } = state;
  return { ...kept, counter, ...(resync !== undefined && resync >= counter && { resync }) };
}
