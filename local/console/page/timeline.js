import { el } from "./dom.js";
import { time } from "./format.js";

/** Remembers how the states of a request were, and lists each change as it is seen, the newest first. */
export function createTimeline() {
  const list = el("ol", { class: "timeline" }, el("li", { class: "empty" }, "Nothing so far."));
  /** @type {Map<string, string> | undefined} */
  let before;
  return {
    list,
    /** @param {any} request in the read model of version 2 */
    look(request) {
      const now = statesOf(request);
      const changes = [...now].filter(([name, state]) => before !== undefined && before.get(name) !== state);
      if (changes.length > 0 && list.querySelector(".empty")) list.replaceChildren();
      for (const [name, state] of changes)
        list.prepend(
          el("li", {}, time(Date.now()), " ", el("strong", {}, name), ` ${before?.get(name) ?? "new"} → ${state}`),
        );
      before = now;
    },
  };
}

/** @param {any} request */
function statesOf({ state, shipment, authenticators = [] }) {
  const keys = [...(shipment?.shipment_items ?? []), ...authenticators];
  return new Map([
    ["request", state],
    ...keys.flatMap((/** @type {any} */ key) => [
      [`${key.name} (${key.id})`, key.state],
      ...key.credentials.map((/** @type {any} */ credential, /** @type {number} */ at) => [
        `${key.name}, credential ${at + 1} for ${credential.user_id}`,
        credential.state,
      ]),
    ]),
  ]);
}
