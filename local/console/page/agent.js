import { steer, worked } from "./calls.js";
import { card, el } from "./dom.js";
import { button, field, form } from "./form.js";
import { code } from "./format.js";

/**
 * @typedef {object} Agent
 * @property {HTMLElement} screen what the agent tells its administrator once
 * @property {(request: any, after: () => Promise<void>) => HTMLElement} controls what can be done with a request
 */

/**
 * The agent with which an administrator enrolls on site.
 * @param {import("./choices.js").Choices} choices
 * @returns {Agent}
 */
export function createAgent({ authenticatorKinds, sabotages }) {
  const screen = el("div", { "aria-live": "polite" });
  const path = (/** @type {string} */ id) => `authenticator-requests/${encodeURIComponent(id)}`;

  const waiting = (/** @type {any} */ { id, name, preferred, pin }, /** @type {() => Promise<void>} */ after) => {
    const change = (/** @type {object} */ body) => steer("rfpr", "POST", path(id), body).then(after);
    return el(
      "div",
      { class: "controls" },
      form(
        "Enroll it",
        async values => {
          const outcome = await steer("rfpr", "POST", `${path(id)}/enroll`, values);
          if (worked(outcome)) screen.replaceChildren(...told(name, outcome.body));
          await after();
        },
        field("authenticator", "Authenticator at hand", {
          options: authenticatorKinds,
          value: preferred,
          key: `kind ${id}`,
        }),
        pin?.entryMethod === "user_entered" && field("pin", "PIN that the user enters", { key: `pin ${id}` }),
      ),
      form(
        "Decline it",
        ({ reason = "" }) => change({ decline: reason }),
        field("reason", "Reason", { key: `reason ${id}` }),
      ),
      el(
        "div",
        { class: "buttons", role: "group", "aria-label": `Request ${id}` },
        button("It cannot be enrolled", () => change({ fail: "No authenticator takes it." }), { key: `fail ${id}` }),
        button("Its time is over", () => change({ expire: true }), { key: `expire ${id}` }),
      ),
    );
  };

  const ended = (/** @type {any} */ { id, sabotage }, /** @type {() => Promise<void>} */ after) =>
    el(
      "div",
      { class: "controls" },
      form(
        "Set answers",
        values => steer("rfpr", "POST", path(id), { sabotage: values.sabotage ?? null }).then(after),
        field("sabotage", "Its answers are", {
          options: [/** @type {[string, string]} */ (["", "honest"]), ...sabotages],
          value: sabotage ?? "",
          key: `sabotage ${id}`,
        }),
      ),
    );

  return {
    screen,
    controls: (request, after) => {
      if (request.state === "waiting") return waiting(request, after);
      return request.state === "completed" ? ended(request, after) : el("div", {});
    },
  };
}

/**
 * @param {string} name
 * @param {{ state: string, serialNumber?: string, errorMessage?: string, shownPin?: string }} enrolled
 */
const told = (name, { state, serialNumber, errorMessage, shownPin }) => [
  card(
    `${name} is ${state}`,
    serialNumber !== undefined && el("p", {}, "Serial number ", code(serialNumber)),
    shownPin !== undefined && el("p", {}, "Its PIN, shown this once: ", el("strong", {}, code(shownPin))),
    errorMessage !== undefined && el("p", { class: "problem" }, errorMessage),
  ),
];
