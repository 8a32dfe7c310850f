import { createHash } from "node:crypto";
import * as z from "zod";
import { codedRefusal } from "../refusal.ts";
import { sealResponse } from "../security-key/exchange-format.ts";
import type { KeyMaker } from "../security-key/key-maker.ts";
import { signingKey } from "../security-key/keyring.ts";
import { credentialResponse, FIRMWARE, generatedPin, pinResponse } from "../security-key/program.ts";
import type { KeyResponses } from "../security-key/sabotage.ts";
import { type AuthenticatorRequest, type AuthenticatorRequests, type End, stateOf } from "./requests.ts";
import { AUTHENTICATOR_KINDS } from "./wire.ts";

/** What the administrator and the user choose at an enrollment. */
export const enrollment = z.strictObject({
  /** The kind of authenticator; by default the preferred one. */
  authenticator: z.enum(AUTHENTICATOR_KINDS).optional(),
  /** The PIN that the user enters, if the user chooses it. */
  pin: z.string().optional(),
  /** The shortest PIN that the authenticator accepts. */
  insistsOn: z.int().min(4).max(63).default(4),
  /** Positions of credentials that it fails to create. */
  fails: z.array(z.int().nonnegative()).default([]),
});

/** The result of an enrollment, as the administrator sees it. */
interface Enrolled {
  readonly state: End["state"];
  readonly serialNumber?: string | undefined;
  readonly errorMessage?: string | undefined;
  /** Shown on the agent's screen. */
  readonly shownPin?: string | undefined;
}

export type Agent = ReturnType<typeof createAgent>;

interface Authenticator {
  readonly serialNumber: string | undefined;
  readonly pin: string | undefined;
  readonly credentials: readonly (Credential | null)[];
  readonly problems: readonly string[];
}

type Credential = ReturnType<KeyMaker["authenticators"]["hardware"]["create"]>;

/** The app with which an administrator enrolls on site. @param nextSerial returns a new serial number for each physical key */
export function createAgent(requests: AuthenticatorRequests, maker: KeyMaker, nextSerial: () => string) {
  const busy = new Set<AuthenticatorRequest>();
  /** Digests of the PINs, because only the authenticator has the PIN itself. */
  const pins = new WeakMap<AuthenticatorRequest, string>();

  const refuseUnlessFree = (request: AuthenticatorRequest) => {
    if (stateOf(request) !== "waiting") throw codedRefusal("conflict", `${request.id} is ${stateOf(request)} already`);
    if (busy.has(request)) throw codedRefusal("conflict", `another agent is at ${request.id}`);
  };

  const program = (request: AuthenticatorRequest, by: z.output<typeof enrollment>): Authenticator => {
    const kind = by.authenticator ?? request.wish.preferred_authenticator_type;
    const pin = pinFor(request.wish.pin, by);
    const problems: string[] = [];
    const credentials = request.credentials.map(({ public_key, origin }, at) => {
      try {
        if (by.fails.includes(at)) throw new Error("the authenticator has no room for it");
        return maker.authenticators[kind].create(public_key, origin);
      } catch (error) {
        problems.push(`Credential ${at + 1} cannot be made: ${(error as Error).message}.`);
        return null;
      }
    });
    return { serialNumber: kind === "hardware" ? nextSerial() : undefined, pin, credentials, problems };
  };

  const handIn = async (request: AuthenticatorRequest, made: Authenticator): Promise<Enrolled> => {
    const { serialNumber, pin } = made;
    const errorMessage = made.problems.length === 0 ? undefined : made.problems.join(" ");
    if (made.credentials.every(credential => credential === null)) {
      requests.end(request, { state: "failed", errorMessage });
      return { state: "failed", errorMessage };
    }
    const delivery = request.wish.pin?.entry_method === "generated" ? request.wish.pin.delivery_method : undefined;
    requests.end(request, {
      state: "completed",
      responses: await sealAll(request, made, maker),
      ...(serialNumber && { serialNumber, firmwareVersion: FIRMWARE }),
      ...(errorMessage && { errorMessage }),
      credentialIds: made.credentials.map(credential => credential?.id ?? null),
      ...(delivery === "app" && { shownPin: pin }),
    });
    if (pin !== undefined) pins.set(request, digest(pin));
    const shown = delivery === "app" || delivery === "none";
    return { state: "completed", serialNumber, errorMessage, shownPin: shown ? pin : undefined };
  };

  return {
    /** Programs an authenticator without sending its responses. A request has one enrollment at a time. */
    begin: (request: AuthenticatorRequest, by: z.input<typeof enrollment> = {}) => {
      refuseUnlessFree(request);
      const made = program(request, enrollment.parse(by));
      busy.add(request);
      return {
        /** Sends the responses. If they are refused, no PIN is shown and the authenticator is reset. */
        finish: () => handIn(request, made).finally(() => busy.delete(request)),
      };
    },
    /** Declines a request, or fails it because it cannot be enrolled. */
    giveUp: (request: AuthenticatorRequest, end: Exclude<End, { state: "completed" }>) => {
      refuseUnlessFree(request);
      requests.end(request, end);
    },
    isAt: (request: AuthenticatorRequest) => busy.has(request),
    /** Returns whether the authenticator that was enrolled for a request accepts a PIN. */
    opens: (request: AuthenticatorRequest, pin: string) => pins.get(request) === digest(pin),
  };
}

const digest = (pin: string) => createHash("sha256").update(pin).digest("hex");

/** A PIN leaves the enrollment services only if the connector emails it. */
async function sealAll(
  request: AuthenticatorRequest,
  { credentials, pin }: Authenticator,
  { keyring }: KeyMaker,
): Promise<KeyResponses> {
  const signKey = signingKey(keyring);
  const sealed = request.credentials.map(({ response_key: recipient }, at) => {
    const credential = credentials[at];
    return credential ? sealResponse(credentialResponse(credential), { recipient, signKey }) : null;
  });
  const recipient = request.pin?.response_key;
  return {
    credentials: await Promise.all(sealed),
    pin: recipient && (await sealResponse(pinResponse(pin), { recipient, signKey })),
  };
}

function pinFor(wish: AuthenticatorRequest["wish"]["pin"], { pin, insistsOn }: z.output<typeof enrollment>) {
  if (wish === undefined) return undefined;
  const least = Math.max(wish.min_length, insistsOn);
  if (wish.entry_method === "generated") return generatedPin(least);
  const length = [...(pin ?? "")].length;
  if (pin === undefined || length < least || length > 63)
    throw codedRefusal("validation_error", `pin: the user enters ${least} to 63 characters`);
  return pin;
}
