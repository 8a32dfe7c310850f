import * as z from "zod";
import { type ControlRoutes, withBody } from "../control.ts";
import { generatedPin } from "../security-key/program.ts";
import { SABOTAGES } from "../security-key/sabotage.ts";
import { type Agent, enrollment } from "./agent.ts";
import { type AuthenticatorRequest, type AuthenticatorRequests, stateOf } from "./requests.ts";

const requestChange = z.strictObject({
  /** Declines the request, with this reason. */
  decline: z.string().optional(),
  /** Fails the request, with this reason. */
  fail: z.string().optional(),
  /** Expires the request. */
  expire: z.literal(true).optional(),
  /** Removes the request, as if it had never been created. */
  forget: z.literal(true).optional(),
  /** null: correct responses again. */
  sabotage: z.enum(SABOTAGES).nullish(),
});

const settings = z.strictObject({
  /** Enrolls every waiting request by itself, at the next read. */
  eager: z.boolean(),
});

type RfprControls = Omit<ReturnType<typeof createRfprControls>, "beforeView">;

interface Behind {
  readonly requests: AuthenticatorRequests;
  readonly agent: Agent;
  save(): void;
}

/** What a test or a user of the local system can do at the agent, also by calls under `/_control/`. */
export function createRfprControls({ requests, agent, save }: Behind) {
  let eager = false;
  const { find } = requests;
  /** Programs an authenticator; `finish` sends its responses. */
  const begin = (id: string, by?: z.input<typeof enrollment>) => agent.begin(find(id), by);
  return {
    /** Returns the requests, oldest first. */
    authenticatorRequests: () => requests.all().map(request => listed(request, agent)),
    begin,
    enroll: async (id: string, by?: z.input<typeof enrollment>) => begin(id, by).finish(),
    control: (id: string, wanted: z.input<typeof requestChange>) => {
      const { decline, fail, expire, forget, sabotage } = requestChange.parse(wanted);
      const request = find(id);
      if (decline !== undefined) agent.giveUp(request, { state: "cancelled", errorMessage: decline || undefined });
      if (fail !== undefined) agent.giveUp(request, { state: "failed", errorMessage: fail || undefined });
      if (expire) request.expiresAt = Date.now();
      if (sabotage === null) delete request.sabotage;
      else if (sabotage !== undefined) request.sabotage = sabotage;
      save();
      if (forget) requests.forget(request);
    },
    /** Returns whether the authenticator that was enrolled for `id` accepts a PIN; unknown after a restart. */
    opens: (id: string, pin: string) => agent.opens(find(id), pin),
    settings: (changed: z.output<typeof settings>) => {
      eager = changed.eager;
    },
    /** Enrolls waiting requests if the agent is eager. */
    beforeView: async (id: string) => {
      if (!eager) return;
      const request = find(id);
      if (stateOf(request) !== "waiting" || agent.isAt(request)) return;
      await agent.begin(request, { pin: generatedPin(request.wish.pin?.min_length ?? 4) }).finish();
    },
  };
}

function listed(request: AuthenticatorRequest, agent: Agent) {
  const { id, wish, credentials, expiresAt, sabotage, end } = request;
  const made = end?.state === "completed" ? end : undefined;
  return {
    id,
    state: stateOf(request),
    begun: agent.isAt(request),
    recipient: wish.recipient,
    name: wish.name,
    customizationId: wish.customization_id,
    preferred: wish.preferred_authenticator_type,
    pin: wish.pin && {
      minLength: wish.pin.min_length,
      entryMethod: wish.pin.entry_method,
      deliveryMethod: wish.pin.delivery_method,
    },
    credentials: credentials.map(({ public_key: { rp, user } }, at) => ({
      relyingParty: rp.id,
      user: user.name,
      credentialId: made?.credentialIds[at] ?? undefined,
    })),
    expiresAt: new Date(expiresAt).toISOString(),
    serialNumber: made?.serialNumber,
    shownPin: made?.shownPin,
    errorMessage: end?.errorMessage,
    sabotage,
  };
}

/** Returns the `/_control/` routes of the controls. */
export const rfprControlRoutes = (controls: RfprControls): ControlRoutes => ({
  "GET authenticator-requests": controls.authenticatorRequests,
  "POST authenticator-requests/:id/enroll": withBody(enrollment, (by, id) => controls.enroll(id, by)),
  "POST authenticator-requests/:id": withBody(requestChange, (wanted, id) => controls.control(id, wanted)),
  "POST settings": withBody(settings, controls.settings),
});
