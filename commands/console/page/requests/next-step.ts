import type { CredentialRequest, SecurityKey } from "../../../../docs/openapi/connector.ts";
import { isSuccess, type Outcome, steer } from "../calls.ts";
import { type AuthenticatorRequest, hasEnded, keysOf, type Shipment } from "../model.ts";
import { processRequests, processShipments } from "./requests.ts";
import { shipped } from "./shipment.ts";

/** A credential request with what the simulated peers know of it. */
export interface Situation {
  readonly request: CredentialRequest;
  readonly shipment?: Shipment | undefined;
  readonly onSite: readonly AuthenticatorRequest[];
}

interface Step {
  readonly label: string;
  readonly run: () => Promise<Outcome>;
}

const chosenPin = "246813";

/** Returns what takes the request further; undefined if it has ended. */
export function nextStep({ request, shipment, onSite }: Situation): Step | undefined {
  if (hasEnded(request)) return undefined;
  const isWaiting = (keys: readonly SecurityKey[] = []) =>
    keys.some(({ credentials }) => credentials.some(({ state }) => state === "processing"));
  if (isWaiting(request.shipment?.shipment_items)) {
    if (shipment !== undefined && shipment.state < shipped)
      return {
        label: "Ship the keys",
        run: () => steer("delivery", "POST", `shipments/${shipment.id}`, { ship: true }),
      };
    return { label: "Process shipments", run: processShipments };
  }
  const waiting = onSite.find(({ state }) => state === "waiting");
  if (waiting !== undefined) {
    const { id, name, preferred, pin } = waiting;
    const by = { authenticator: preferred, ...(pin?.entryMethod === "user_entered" && { pin: chosenPin }) };
    const path = `authenticator-requests/${encodeURIComponent(id)}/enroll`;
    return { label: `Enroll ${name}`, run: () => steer("rfpr", "POST", path, by) };
  }
  return { label: "Process credential requests", run: processRequests };
}

const maxSteps = 30;
const maxIdleSteps = 3;

/**
 * Takes one step after the other until the request has ended. Throws if a step is refused, or if steps change nothing any more.
 * @param read reads the situation after each step
 */
export async function playToTheEnd(read: () => Promise<Situation>): Promise<void> {
  let idle = 0;
  let before = "";
  for (let count = 0; count < maxSteps && idle < maxIdleSteps; count++) {
    const situation = await read();
    const step = nextStep(situation);
    if (step === undefined) return;
    const now = JSON.stringify([keysOf(situation.request), situation.shipment?.state, situation.onSite]);
    idle = now === before ? idle + 1 : 0;
    before = now;
    if (!isSuccess(await step.run())) return;
  }
  throw new Error("The request goes no further now. Its keys and its timeline say what it waits for.");
}
