import { readPeer, steer } from "./calls.js";
import { card, el, table } from "./dom.js";
import { button, field, form } from "./form.js";
import { code } from "./format.js";
import { live } from "./live.js";

const life = () =>
  field("expiresIn", "Access tokens live, in seconds", { type: "number", value: 3600, min: 0, required: true });
const cap = (/** @type {number} */ value) =>
  field("maxDevices", "Keys a user may have", { type: "number", value, min: 0, required: true });

/** @type {import("./peer-controls.js").PeerControls} */
export const entraControls = (left, { standings }) => controls("entra", left, { standings, settings: [life()] });

/** @type {import("./peer-controls.js").PeerControls} */
export const pingoneControls = (left, { pingStandings, pingBytes }) =>
  controls("pingone", left, {
    standings: pingStandings,
    settings: [life(), cap(5), field("bytes", "Bytes of creation options are", { options: pingBytes })],
  });

/** @type {import("./peer-controls.js").PeerControls} */
export const aicControls = (left, { pingStandings, aicForms }) =>
  controls("aic", left, {
    standings: pingStandings,
    settings: [
      life(),
      cap(100),
      field("form", "The journey hands options out as", { options: aicForms }),
      field("journeySeconds", "A journey lasts, in seconds", {
        type: "number",
        value: 14 * 86_400,
        min: 1,
        required: true,
      }),
    ],
  });

/**
 * What every simulated identity provider can be told.
 * @param {string} peer
 * @param {AbortSignal} left
 * @param {{ standings: readonly string[], settings: readonly HTMLElement[] }} own its own ways
 * @returns {import("./peer-controls.js").OwnControls}
 */
function controls(peer, left, { standings, settings }) {
  const { area, ready } = live(left, signal => readPeer(peer, "registrations", signal), draw);
  const post = (/** @type {string} */ path, /** @type {object} */ body = {}) =>
    steer(peer, "POST", path, body).then(() => {});
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
        form("Set its ways", values => post("settings", typed(values)), el("div", { class: "grid" }, settings)),
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

/** @param {Record<string, string>} values */
const typed = values =>
  Object.fromEntries(Object.entries(values).map(([name, text]) => [name, /^\d+$/.test(text) ? Number(text) : text]));

/** @param {{ userId: string, credentialId: string, displayName: string }[]} registrations */
const draw = registrations =>
  table(
    "Registered keys",
    ["User", "Key", "Credential"],
    registrations.map(({ userId, displayName, credentialId }) => [userId, displayName, code(credentialId)]),
    "No key is registered.",
  );
