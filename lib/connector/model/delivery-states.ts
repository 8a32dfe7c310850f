import type { Delivery } from "./request.ts";

/** States of the normal course: in work, shipped, delivered. */
const expectedStates = [101, 102, 103, 104];

/** Returns the message of the delivery service about a shipment that needs attention; undefined in the normal course (C10). */
export function deliveryProblem({ stateId, message }: Pick<Delivery, "stateId" | "message">): string | undefined {
  if (stateId === undefined || expectedStates.includes(stateId)) return undefined;
  return `The delivery service reports: ${message ?? `state ${stateId}`}`;
}
