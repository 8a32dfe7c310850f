import { createAgent } from "./agent.js";
import { readPeer } from "./calls.js";
import { choices } from "./choices.js";
import { badge, card, el, factList } from "./dom.js";
import { code, time } from "./format.js";
import { jobButtons } from "./jobs.js";
import { live } from "./live.js";

/**
 * What an administrator with the agent's app sees on site.
 * @type {import("./main.js").View}
 */
export async function onSite({ main, left }) {
  const agent = createAgent(await choices());
  const { area, ready, refresh } = live(
    left,
    signal => readPeer("rfpr", "authenticator-requests", signal),
    (/** @type {any[]} */ requests, again) =>
      requests.length === 0
        ? el("p", { class: "empty" }, "Nothing is to be enrolled. Order an on-site authenticator.")
        : requests.toReversed().map(request => drawAuthenticator(request, agent, again)),
  );
  main.append(
    el(
      "div",
      { class: "bar" },
      el("a", { class: "button main", href: "#/order" }, "Order a key"),
      jobButtons(refresh),
      el("a", { class: "button", href: "#/peer/rfpr" }, "The pre-registration API"),
    ),
    agent.screen,
    area,
  );
  await ready;
  return "On site";
}

/**
 * An authenticator that is to be enrolled, or was, with what its administrator can do.
 * @param {any} request
 * @param {import("./agent.js").Agent} agent
 * @param {() => Promise<void>} refresh
 */
export const drawAuthenticator = (request, agent, refresh) =>
  card(
    `${request.name} for ${[request.recipient.first_name, request.recipient.last_name].filter(Boolean).join(" ") || request.recipient.email}`,
    el("p", { class: "state-line" }, badge(request.state), request.errorMessage && ` ${request.errorMessage}`),
    factList({
      Request: code(request.id),
      Preferred: request.preferred,
      PIN: wordPin(request),
      Until: request.state === "waiting" ? time(request.expiresAt) : undefined,
      "Serial number": code(request.serialNumber),
      Credentials: el(
        "ol",
        {},
        request.credentials.map((/** @type {any} */ { user, relyingParty, credentialId }) =>
          el("li", {}, `${user} at ${relyingParty} `, code(credentialId)),
        ),
      ),
    }),
    agent.controls(request, refresh),
  );

/** @param {any} request */
function wordPin({ pin, shownPin }) {
  if (shownPin !== undefined)
    return el("span", {}, el("strong", {}, code(shownPin)), " for whom the authenticator is for");
  if (pin === undefined) return "none";
  const { minLength, entryMethod, deliveryMethod } = pin;
  const told = { none: "handed over by the administrator", app: "shown here", email: "sent by mail" };
  return entryMethod === "user_entered"
    ? `entered by the user, ${minLength} characters or more`
    : `generated, ${minLength} digits or more, ${told[/** @type {"none" | "app" | "email"} */ (deliveryMethod)]}`;
}
