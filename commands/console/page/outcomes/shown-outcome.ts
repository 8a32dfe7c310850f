import type { Outcome } from "../calls.ts";
import { html, shownLive } from "../ui.ts";
import { refusalOf } from "./refusal.ts";

/** Shows the body of a successful read, and why another was refused. */
export const shownOutcome = <T>(
  live: { readonly data?: Outcome<T>; readonly problem?: string },
  show: (body: T) => unknown,
) =>
  shownLive(live, outcome =>
    outcome.status === 200 ? show(outcome.body) : html`<p class="problem">${refusalOf(outcome)}</p>`,
  );
