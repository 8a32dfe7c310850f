import { deliveryControls } from "./peer-delivery.js";
import { enrollmentControls, rfprControls } from "./peer-enrollment.js";
import { aicControls, entraControls, pingoneControls } from "./peer-idp.js";
import { issuerControls } from "./peer-issuer.js";
import { mailControls } from "./peer-mail.js";

/**
 * @typedef {{ cards: readonly HTMLElement[], ready?: Promise<unknown> }} OwnControls
 * @typedef {(left: AbortSignal, choices: import("./choices.js").Choices) => OwnControls} PeerControls
 */

/** @type {Record<string, PeerControls>} */
const known = {
  delivery: deliveryControls,
  enrollment: enrollmentControls,
  rfpr: rfprControls,
  entra: entraControls,
  pingone: pingoneControls,
  aic: aicControls,
  issuer: issuerControls,
  mail: mailControls,
};

/**
 * What one peer can be told beside what all can.
 * @param {string} name
 * @param {AbortSignal} left
 * @param {import("./choices.js").Choices} choices
 * @returns {OwnControls}
 */
export const ownControls = (name, left, choices) => known[name]?.(left, choices) ?? { cards: [] };
