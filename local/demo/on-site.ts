import * as z from "zod";
import { createdV2 } from "../../lib/connector/api/read-credential-request.ts";
import { sampleRequest } from "../start/sample-request.ts";
import type { Calls } from "./calls.ts";
import type { Narrator } from "./print.ts";
import { showStates } from "./states.ts";

const waiting = z.array(z.object({ id: z.string(), state: z.literal("waiting"), name: z.string() }));
const enrolled = z.object({ state: z.literal("completed"), serialNumber: z.string(), shownPin: z.string() });
const registrations = z.array(z.object({ userId: z.string(), displayName: z.string() }));

/** Plays a key that is programmed on site, for another identity provider. Rejects if a state or response is another one than expected. */
export async function playOnSiteKey(calls: Calls, narrator: Narrator): Promise<void> {
  narrator.title("Another key, programmed on site");
  narrator.step(
    "A key is requested",
    "Nothing is shipped. Its credential is for PingOne; the app that programs it shows its PIN.",
  );
  const { recipient, enrollment_contacts } = sampleRequest;
  const authenticator = {
    name: "Ada's Badge",
    pin_request: { min_length: 6, delivery_method: "app" },
    credentials: [{ idp_id: "pingone", user_id: recipient.email }],
  };
  const body = { recipient, enrollment_contacts, authenticators: [authenticator] };
  const answer = createdV2.parse(await calls.api("POST", "/v2/credential-requests", 201, body));
  await calls.showPeerCalls();
  const id = answer.data.credential_request_id;

  narrator.step(
    "An administrator enrolls it",
    "The app lists waiting requests, programs the key, and sends its responses.",
  );
  const [request, ...others] = await calls.peer("rfpr", "authenticator-requests", waiting);
  if (request === undefined || others.length > 0) throw new Error("there is not exactly one on-site request.");
  const { serialNumber, shownPin } = await calls.peer(
    "rfpr",
    `authenticator-requests/${encodeURIComponent(request.id)}/enroll`,
    enrolled,
    {},
  );
  narrator.note(`"${request.name}" is the key ${serialNumber} now; the app shows its PIN: ${shownPin}`);

  narrator.step("It is activated", "One call fetches the responses and registers the key.");
  await calls.api("POST", "/v2/operations/process-credential-requests", 200);
  await calls.showPeerCalls();
  await showStates(id, ["complete", "complete", "active"], { calls, narrator });
  const [registered] = await calls.peer("pingone", "registrations", registrations);
  if (!registered?.displayName.endsWith(serialNumber)) throw new Error("the key is not registered at PingOne.");
  narrator.note(`registered at PingOne: "${registered.displayName}" for ${registered.userId}`);
}
