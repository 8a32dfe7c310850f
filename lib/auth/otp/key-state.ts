import type { KeyState } from "./contract.ts";

/** A state in which nothing below `least` passes either. No counter goes down (decision A10). */
export function raised(state: KeyState, least: KeyState): KeyState {
  const counter = Math.max(state.counter, least.counter);
  const { resync } = state;
  return resync === undefined || resync < counter ? { counter } : { counter, resync };
}
