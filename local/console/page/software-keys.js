import { ask, told, worked } from "./calls.js";
import { card, el } from "./dom.js";
import { field, form } from "./form.js";

/**
 * @typedef {{ prefix: string, kind: string, digits: number }} SoftwareKey
 * @typedef {{ otp: string, leftMs?: number, given?: boolean }} Otp
 */

/** @returns {Promise<SoftwareKey[]>} */
export const softwareKeys = () => ask("GET", "keys");

/**
 * What the key shows next. A code of an event or of a Yubico key is made once.
 * @param {string} prefix
 * @returns {Promise<Otp>}
 */
export const nextOtp = prefix => ask("POST", `keys/${prefix}/next`);

/**
 * How long a code is good for, where that is limited.
 * @param {Otp} shown
 */
export const remark = ({ leftMs, given }) =>
  leftMs === undefined
    ? ""
    : `${given ? "Given before, so it passes no more. The next one" : "The next code"} comes in ${Math.ceil(leftMs / 1000)} s.`;

/**
 * Makes a key up and imports it by the Core API. The secret stays in the console's server.
 * @param {import("./choices.js").Choices} choices
 * @param {() => Promise<void>} after
 */
export const newKeyCard = ({ softwareKeyKinds }, after) =>
  card(
    "New software key",
    el(
      "p",
      { class: "hint" },
      "Its secret is made up here, imported, and kept, so that this page can sign in with it.",
    ),
    form(
      "Import",
      async ({ digits, ...wanted }, sent) => {
        const body = { ...wanted, digits: Number(digits) };
        const outcome = await told("POST /core/otpkeys", () => ask("POST", "keys", { body }));
        if (worked(outcome)) sent.reset();
        await after();
      },
      el(
        "div",
        { class: "grid" },
        field("kind", "Kind", { options: softwareKeyKinds }),
        field("prefix", "Prefix", { hint: "Empty: a random one." }),
        field("digits", "Digits", { options: ["6", "8"], hint: "Not of a yubico key." }),
      ),
    ),
  );
