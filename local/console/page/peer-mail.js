import { steer } from "./calls.js";
import { card, el } from "./dom.js";
import { button, field, form } from "./form.js";

/** @type {import("./peer-controls.js").PeerControls} */
export function mailControls(_left, { mailOutcomes }) {
  return {
    cards: [
      card(
        "Ways of the service",
        el("p", {}, el("a", { href: "#/mailbox" }, "The mailbox"), " shows what has come."),
        form(
          "Set the outcome of the next sends",
          async ({ status, times, runningPolls, message }) => {
            const error = message === undefined ? {} : { error: { code: "Simulated", message } };
            await steer("mail", "POST", "outcomes", {
              status,
              times: Number(times),
              runningPolls: Number(runningPolls),
              ...error,
            });
          },
          el(
            "div",
            { class: "grid" },
            field("status", "Outcome", { options: mailOutcomes }),
            field("times", "Times", { type: "number", value: 1, min: 1, required: true }),
            field("runningPolls", "Look-ups that say “Running” first", {
              type: "number",
              value: 1,
              min: 0,
              required: true,
            }),
            field("message", "Error message"),
          ),
        ),
        form(
          "Set the quota",
          async ({ sends, seconds }) => {
            await steer("mail", "PUT", "quota", { sends: Number(sends), seconds: Number(seconds) });
          },
          el(
            "div",
            { class: "grid" },
            field("sends", "Sends", { type: "number", value: 30, min: 0, required: true }),
            field("seconds", "In seconds", { type: "number", value: 60, min: 1, required: true }),
          ),
        ),
        el(
          "div",
          { class: "buttons" },
          button("No quota", () => steer("mail", "DELETE", "quota")),
        ),
      ),
    ],
  };
}
