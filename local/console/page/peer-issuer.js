import { steer } from "./calls.js";
import { card, el } from "./dom.js";
import { button } from "./form.js";

/** @type {import("./peer-controls.js").PeerControls} */
export const issuerControls = () => ({
  cards: [
    card(
      "Ways of the issuer",
      el(
        "div",
        { class: "buttons" },
        button("Sign with a new key", () => steer("issuer", "POST", "rotate", {})),
      ),
    ),
  ],
});
