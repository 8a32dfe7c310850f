import * as z from "zod";
import { createdV2 } from "../../lib/connector/api/v2/read-credential-request.ts";
import { sampleRequest } from "../start/sample-request.ts";
import type { Calls } from "./calls.ts";
import type { Teller } from "./print.ts";
import { tellStates } from "./states.ts";

const waiting = z.array(z.object({ id: z.string(), state: z.literal("waiting"), name: z.string() }));
const enrolled = z.object({ state: z.literal("completed"), serialNumber: z.string(), shownPin: z.string() });
const registrations = z.array(z.object({ userId: z.string(), displayName: z.string() }));

/** Plays a key that is programmed on site, for another identity provider. Rejects where something is not as it should be. */
export async function tellOnSite(calls: Calls, teller: Teller): Promise<void> {
  teller.title("A second key, programmed on site");
  teller.step(
    "A key is asked for",
    "Nothing is shipped. Its credential is for PingOne; its PIN is shown where it is made.",
  );
  const { recipient, enrollment_contacts } = sampleRequest;
  const authenticator = {
    name: "Ada's Badge",
    pin_request: { min_length: 6, delivery_method: "app" },
    credentials: [{ idp_id: "pingone", user_id: recipient.email }],
  };
  const body = { recipient, enrollment_contacts, authenticators: [authenticator] };
  const answer = createdV2.parse(await calls.api("POST", "/v2/credential-requests", 201, body));
  await calls.tellPeerCalls();
  const id = answer.data.credential_request_id;

  teller.step("An administrator enrolls it", "The app lists what waits, programs the key, and hands its answer in.");
  const [request, ...others] = await calls.peer("rfpr", "authenticator-requests", waiting);
  if (request === undefined || others.length > 0) throw new Error("there is not one request on site.");
  const { serialNumber, shownPin } = await calls.peer(
    "rfpr",
    `authenticator-requests/${encodeURIComponent(request.id)}/enroll`,
    enrolled,
    {},
  );
  teller.note(`"${request.name}" is the key ${serialNumber} now; the app shows its PIN: ${shownPin}`);

  teller.step("It is activated", "One call fetches the answer and registers the key.");
  await calls.api("POST", "/v2/operations/process-credential-requests", 200);
  await calls.tellPeerCalls();
  await tellStates(id, ["complete", "complete", "active"], { calls, teller });
  const [registered] = await calls.peer("pingone", "registrations", registrations);
  if (!registered?.displayName.endsWith(serialNumber)) throw new Error("the key is not registered at PingOne.");
  teller.note(`registered at PingOne: "${registered.displayName}" for ${registered.userId}`);
}
