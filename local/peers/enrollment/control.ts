import * as z from "zod";
import { withControlBody } from "../control-body.ts";
import { SABOTAGES } from "../delivery/view.ts";
import type { HttpAnswer, HttpCall } from "../peer.ts";
import { generatedPin } from "../security-key/generated-pin.ts";
import { type Agent, type Enrolled, enrollment } from "./agent.ts";
import { OWN_TENANT } from "./enrollment.ts";
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

/** A request as the agent shows it. */
type Listed = ReturnType<typeof listed>;

/** What a test or a user of the local system can do at the agent, also by calls under `/_control/`. Rejects with `EnrollmentError`. */
export interface RfprControls {
  /** Returns the requests of the local system's tenant, oldest first. */
  authenticatorRequests(): readonly Listed[];
  enroll(id: string, by?: z.input<typeof enrollment>): Promise<Enrolled>;
  /** Programs an authenticator; `finish` sends its responses. */
  begin(id: string, by?: z.input<typeof enrollment>): ReturnType<Agent["begin"]>;
  control(id: string, change: z.input<typeof requestChange>): void;
  /** Returns whether the authenticator that was enrolled for `id` accepts a PIN; unknown after a restart. */
  opens(id: string, pin: string): boolean;
  settings(changed: z.input<typeof settings>): void;
}

interface Behind {
  readonly requests: AuthenticatorRequests;
  readonly agent: Agent;
  save(): void;
}

export function createRfprControls({ requests, agent, save }: Behind): RfprControls & {
  /** Enrolls waiting requests if the agent is eager. */
  beforeView(id: string): Promise<void>;
} {
  let eager = false;
  const find = (id: string) => requests.find(OWN_TENANT, id);
  const begin: RfprControls["begin"] = (id, by) => agent.begin(find(id), by);
  return {
    authenticatorRequests: () => requests.all(OWN_TENANT).map(request => listed(request, agent)),
    begin,
    enroll: async (id, by) => begin(id, by).finish(),
    control: (id, wanted) => {
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
    opens: (id, pin) => agent.opens(find(id), pin),
    settings: changed => {
      eager = settings.parse(changed).eager;
    },
    beforeView: async id => {
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

/** Returns the `/_control/` routes of {@link RfprControls}. */
export async function rfprControlRoutes(
  controls: RfprControls,
  { method, path, body }: HttpCall,
): Promise<HttpAnswer | undefined> {
  const [, id, enroll] = path.match(/^\/_control\/authenticator-requests\/([^/]+)(\/enroll)?$/) ?? [];
  if (method === "POST" && id !== undefined && enroll !== undefined)
    return withControlBody(enrollment, body, async by => ({ status: 200, body: await controls.enroll(id, by) }));
  if (method === "POST" && id !== undefined)
    return withControlBody(requestChange, body, wanted => {
      controls.control(id, wanted);
      return { status: 204 };
    });
  switch (`${method} ${path}`) {
    case "GET /_control/authenticator-requests":
      return { status: 200, body: controls.authenticatorRequests() };
    case "POST /_control/settings":
      return withControlBody(settings, body, changed => {
        controls.settings(changed);
        return { status: 204 };
      });
    default:
      return undefined;
  }
}
