import { readPeer, steer } from "./calls.js";
import { card, el, table } from "./dom.js";
import { button, field, form } from "./form.js";
import { code } from "./format.js";
import { live } from "./live.js";

/** @type {import("./peer-controls.js").PeerControls} */
export function entraControls(left, { standings }) {
  const { area, ready } = live(left, signal => readPeer("entra", "registrations", signal), draw);
  const post = (/** @type {string} */ path, /** @type {object} */ body = {}) =>
    steer("entra", "POST", path, body).then(() => {});
  return {
    ready,
    cards: [
      card("Registered keys", area),
      card(
        "Ways of the tenant",
        form(
          "Set the user’s standing",
          ({ user = "", standing }) => post(`users/${encodeURIComponent(user)}`, { standing }),
          el(
            "div",
            { class: "grid" },
            field("user", "User", { value: "ada@example.com", required: true }),
            field("standing", "Standing", { options: standings }),
          ),
        ),
        form(
          "Set the life of tokens",
          ({ expiresIn }) => post("settings", { expiresIn: Number(expiresIn) }),
          field("expiresIn", "Access tokens live, in seconds", { type: "number", value: 3600, min: 0, required: true }),
        ),
        el(
          "div",
          { class: "buttons" },
          button("Expire all challenges", () => post("expire-challenges")),
          button("Revoke all tokens", () => post("revoke-tokens")),
        ),
      ),
    ],
  };
}

/** @param {{ userId: string, credentialId: string, displayName: string }[]} registrations */
const draw = registrations =>
  table(
    "Registered keys",
    ["User", "Key", "Credential"],
    registrations.map(({ userId, displayName, credentialId }) => [userId, displayName, code(credentialId)]),
    "No key is registered.",
  );
