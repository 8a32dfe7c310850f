import { ask } from "./calls.js";

/**
 * @typedef {{ shipmentStates: Record<string, string>, sabotages: string[], standings: string[], pingStandings: string[],
 *   pingBytes: string[], aicForms: string[], authenticatorKinds: string[],
 *   entryMethods: string[], deliveryMethods: string[], mailOutcomes: string[], faultKinds: string[], requestStates: string[],
 *   timers: string[], softwareKeyKinds: string[] }} Choices
 */

/** @type {Promise<Choices> | undefined} */
let asked;

/**
 * What there is to choose from.
 * @returns {Promise<Choices>}
 */
export const choices = () => {
  asked ??= ask("GET", "choices").catch(error => {
    asked = undefined;
    throw error;
  });
  return asked;
};
