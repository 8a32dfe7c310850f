import { callHost } from "./calls.js";
import { el } from "./dom.js";
import { button } from "./form.js";

/**
 * The two jobs on demand.
 * @param {() => Promise<void>} after
 */
export const jobButtons = after =>
  el(
    "div",
    { class: "buttons", role: "group", "aria-label": "Jobs" },
    button("Process shipments", () => callHost("GET", "/v2/operations/process-shipments").then(after)),
    button("Process credential requests", () =>
      callHost("POST", "/v2/operations/process-credential-requests").then(after),
    ),
  );
