import { createAgent } from "./agent.js";
import { callHost, facts, readHost, readPeer, segment } from "./calls.js";
import { choices } from "./choices.js";
import { badge, card, el, factList } from "./dom.js";
import { button } from "./form.js";
import { code, json, time } from "./format.js";
import { jobButtons } from "./jobs.js";
import { live } from "./live.js";
import { drawAuthenticator } from "./on-site.js";
import { shipmentControls, shipmentState } from "./shipment.js";
import { createTimeline } from "./timeline.js";

/** @type {import("./main.js").View} */
export async function request({ main, left }, id) {
  const path = `/v2/credential-requests/${segment(id)}`;
  const timeline = createTimeline();
  const [known, { peers }] = await Promise.all([choices(), facts()]);
  const agent = createAgent(known);
  const load = async (/** @type {AbortSignal} */ signal) => {
    const { status, body } = await readHost(path, { signal });
    if (status !== 200) return { status, body };
    const data = body.data;
    timeline.look(data);
    const told = async (/** @type {string} */ peer, /** @type {string} */ what) =>
      peers[peer] === undefined ? [] : readPeer(peer, what, signal);
    const [shipments, onSite] = await Promise.all([
      data.shipment?.shipment_id === undefined ? [] : told("delivery", "shipments"),
      data.authenticators === undefined ? [] : told("rfpr", "authenticator-requests"),
    ]);
    return {
      status,
      data,
      shipment: shipments.find((/** @type {any} */ each) => each.id === data.shipment.shipment_id),
      onSite: onSite.filter((/** @type {any} */ each) => each.id.startsWith(`${id}.`)),
    };
  };
  const { area, ready, refresh } = live(left, load, (answer, again) => draw(answer, { known, agent, refresh: again }));
  main.append(
    el("p", { class: "lead" }, code(id)),
    el(
      "div",
      { class: "bar" },
      jobButtons(refresh),
      el(
        "div",
        { class: "buttons", role: "group", "aria-label": "This request" },
        button("Resend PIN mails", () => callHost("POST", `${path}/resend-pin`).then(refresh)),
        button("Cancel", () => callHost("POST", `${path}/cancel`).then(refresh), { class: "danger" }),
      ),
    ),
    agent.screen,
    area,
    card("What changed while this page was open", timeline.list),
  );
  await ready;
  return "Request";
}

/**
 * @param {any} answer
 * @param {{ known: import("./choices.js").Choices, agent: import("./agent.js").Agent, refresh: () => Promise<void> }} ways
 */
function draw({ status, body, data, shipment, onSite }, { known, agent, refresh }) {
  if (status !== 200)
    return el("p", { class: "problem" }, `The host answers ${status}: ${body?.error_message ?? "nothing more"}`);
  const keys = [
    ...(data.shipment?.shipment_items ?? []).map((/** @type {any} */ key) => ({ ...key, place: "shipped" })),
    ...(data.authenticators ?? []).map((/** @type {any} */ key) => ({ ...key, place: "on site" })),
  ];
  return [
    el(
      "p",
      { class: "state-line" },
      "The request is ",
      badge(data.state),
      data.error_message && ` ${data.error_message}`,
    ),
    el("div", { class: "keys" }, keys.map(drawKey)),
    data.shipment &&
      card(
        "Shipment",
        factList({
          Id: code(data.shipment.shipment_id) ?? "none yet",
          Address: addressOf(data.shipment.mailing_address),
          "At the delivery service": shipment === undefined ? "unknown there" : shipmentState(shipment.state, known),
        }),
        shipment && shipmentControls(shipment, known, refresh),
      ),
    onSite.map((/** @type {any} */ each) => drawAuthenticator(each, agent, refresh)),
    el("details", { class: "card", "data-key": "answer" }, el("summary", {}, "As the API answers it"), json(data)),
  ];
}

/** @param {any} key */
const drawKey = ({ id, name, state, place, credentials }) =>
  el(
    "section",
    { class: "card key" },
    el("h2", {}, name, " ", badge(state)),
    el("p", { class: "hint" }, code(id), ` · ${place}`),
    el("ol", { class: "credentials", "aria-label": `Credentials of ${name}` }, credentials.map(drawCredential)),
  );

/** @param {any} credential */
const drawCredential = ({ user_id, idp_id, relying_party_id, state, retryable_until, error_message }) =>
  el(
    "li",
    {},
    el("p", {}, el("span", {}, user_id), " ", badge(state)),
    el(
      "p",
      { class: "hint" },
      [idp_id, relying_party_id].filter(Boolean).join(", "),
      state === "activation_pending" && retryable_until !== undefined && [" · retried until ", time(retryable_until)],
    ),
    error_message !== undefined && el("p", { class: "problem" }, error_message),
  );

/** @param {any} address */
const addressOf = ({ street_line1, street_line2, postal_code, city, region, country_code }) =>
  [street_line1, street_line2, [city, region, postal_code].filter(Boolean).join(" "), country_code]
    .filter(Boolean)
    .join(", ");
