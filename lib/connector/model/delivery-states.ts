import type { Delivery } from "./request.ts";

/** In work, shipped, delivered: nothing to tell. */
const expectedStates = [101, 102, 103, 104];

/** The delivery service's word on a shipment that needs somebody's attention; undefined for one that goes its way (decision C10). */
export function deliveryProblem({ stateId, message }: Pick<Delivery, "stateId" | "message">): string | undefined {
  if (stateId === undefined || expectedStates.includes(stateId)) return undefined;
  return `The delivery service reports: ${message ?? `state ${stateId}`}`;
}
