import { steer } from "./calls.js";
import { card, el } from "./dom.js";
import { button, field, form } from "./form.js";

/** @type {import("./peer-controls.js").PeerControls} */
export const enrollmentControls = () => ({
  cards: [
    card(
      "Ways of the service",
      form(
        "Set the life of tokens",
        ({ expiresIn }) => steer("enrollment", "POST", "settings", { expiresIn: Number(expiresIn) }),
        field("expiresIn", "Access tokens live, in seconds", { type: "number", value: 900, min: 0, required: true }),
      ),
      el(
        "div",
        { class: "buttons" },
        button("Revoke all tokens", () => steer("enrollment", "POST", "revoke-tokens", {})),
      ),
    ),
  ],
});

/** @type {import("./peer-controls.js").PeerControls} */
export const rfprControls = () => ({
  cards: [
    card(
      "Ways of the agent",
      el("p", {}, "What is to be enrolled stands ", el("a", { href: "#/on-site" }, "on site"), "."),
      el(
        "div",
        { class: "buttons" },
        button("Enroll by itself", () => steer("rfpr", "POST", "settings", { eager: true })),
        button("Wait for the administrator", () => steer("rfpr", "POST", "settings", { eager: false })),
      ),
    ),
  ],
});
