import { callHost, facts, worked } from "./calls.js";
import { choices } from "./choices.js";
import { card, el } from "./dom.js";
import { button, field, form } from "./form.js";
import { json } from "./format.js";
import { idpIds } from "./idps.js";

/** @type {import("./main.js").View} */
export async function maintenance({ main }) {
  const [{ surfaces }, { timers }] = await Promise.all([facts(), choices()]);
  const report = el("div", { "aria-live": "polite" });
  const run = async (/** @type {string} */ task, /** @type {object} */ input = {}) => {
    const outcome = await callHost("POST", `/maintenance/${task}`, { body: input });
    report.replaceChildren(card(`${task} ${worked(outcome) ? "has reported" : "was refused"}`, json(outcome.body)));
  };
  const tasks = (/** @type {string} */ wing) => [
    button("Back up", () => run(`${wing}/back-up`)),
    button("Seal anew", () => run(`${wing}/reseal`)),
  ];
  const idps = surfaces.connector ? await idpIds() : [];
  const cards = [
    el("p", { class: "lead" }, "What an administrator starts inside the network, by the host’s master key."),
    card(
      "Timers",
      el("p", { class: "hint" }, "Each does what is due now; the two jobs on demand do every open item."),
      el(
        "div",
        { class: "buttons" },
        timers.map(timer => button(timer, () => callHost("POST", `/admin/functions/${timer}`, { body: {} }))),
      ),
    ),
    surfaces.connector &&
      card(
        "Connector",
        form(
          "Check every peer",
          ({ user_id, idp_id }) => run("connector/check-peers", { users: user_id ? [{ user_id, idp_id }] : [] }),
          el(
            "div",
            { class: "grid" },
            field("user_id", "A user who is to be known", { value: "ada@example.com" }),
            field("idp_id", "To the identity provider", { options: idps }),
          ),
        ),
        form(
          "Erase one recipient",
          ({ by = "", who = "" }) => run("connector/erase", { [by]: who }),
          el(
            "div",
            { class: "grid" },
            field("by", "Known by", { options: ["email", "external_id", "user_id"] }),
            field("who", "Who", {
              required: true,
              hint: "Whatever is kept of them goes; open requests are cancelled first.",
            }),
          ),
        ),
        el("div", { class: "buttons" }, tasks("connector")),
      ),
    surfaces.core && card("Authentication server", el("div", { class: "buttons" }, tasks("auth"))),
    report,
  ];
  main.append(...cards.filter(each => each !== false));
  return "Maintenance";
}
