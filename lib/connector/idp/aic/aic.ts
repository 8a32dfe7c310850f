import * as z from "zod";
import { callPeer, type PeerAccess, type PeerRequest } from "../../../platform/call-peer.ts";
import { PeerFailure } from "../../../platform/peer-failure.ts";
import { earliest, plus } from "../../../platform/time.ts";
import { idpName } from "../../model/peer-names.ts";
import type { Idp } from "../contract.ts";
import { readCreationOptions, unusable } from "../creation-options.ts";
import type { IdpDeps, IdpKind } from "../kind.ts";
import { createPingTokens } from "../ping.ts";
import { removeDevice } from "./remove-device.ts";
import { type AicSettings, settings } from "./settings.ts";
import {
  end,
  endOf,
  errorOf,
  fillIn,
  type JourneyStep,
  journeyOptions,
  optionsOf,
  outcomeOf,
  step,
  typesOf,
  userHint,
  userNameIn,
} from "./wire.ts";

const idpState = z.object({ step });
/** The maximum size of a step as JSON, in bytes. A row has up to 20 of them, sealed and a third longer. */
const longestStep = 16_000;
/** The maximum size of a response in bytes: larger than a step's, whose own limit has a better message. */
const maxResponseBytes = 64 * 1024;
const stepOrEnd = z.union([step, end]);
type Call = Required<Pick<PeerRequest<unknown>, "headers" | "signal">>;

function connect(id: string, configured: AicSettings, deps: IdpDeps): Idp {
  const access: PeerAccess = { ...deps, peer: idpName(id), errorOf, maxResponseBytes };
  const realm = `realms/root/realms/${configured.realm.replace("/", "")}`;
  const tokenUrl = `${amUrlOf(configured["auth-base-url"])}/oauth2/${realm}/access_token`;
  const tokens = createPingTokens(access, {
    tokenUrl,
    audience: withPort(tokenUrl),
    clientId: configured["client-id"],
    scope: configured.scope,
    secret: deps.secret,
  });
  // Without noSession the journey would end with a session of the user.
  const query = new URLSearchParams({
    authIndexType: "service",
    authIndexValue: configured.journey,
    noSession: "true",
  });
  const realmUrl = `${amUrlOf(configured["api-base-url"])}/json/${realm}`;
  const url = `${realmUrl}/authenticate?${query}`;
  const defaultRelyingPartyId = configured["default-relying-party"] ?? new URL(configured["api-base-url"]).hostname;
  const timeoutMs = configured["challenge-timeout-milliseconds"];
  const userField = { type: configured["callback-1"], tokenId: configured["token-id-1"] };
  const outcomeField = {
    type: configured["callback-3"],
    tokenId: configured["token-id-2"],
    id: "webAuthnOutcome",
  };

  /** Runs one operation with an access token, in the header that the journey expects. */
  const operate = <T>(outer: AbortSignal, work: (call: Call) => Promise<T>) =>
    tokens.use(outer, ({ token, signal }) => work({ headers: headersFor(token), signal }));
  /** AM refuses calls without a version of its API. */
  const headersFor = (token: string) => ({
    [configured["authentication-header"]]: `Bearer ${token}`,
    "accept-api-version": "resource=2.1, protocol=1.0",
    "content-type": "application/json",
  });
  const post = (operation: string, body?: JourneyStep) =>
    ({ operation, method: "POST", url, body, response: stepOrEnd }) as const;

  /** Continues a journey. The step cannot be used again after that, also if the call fails. */
  const continueJourney = (request: PeerRequest<JourneyStep | undefined>, hint?: string) =>
    callPeer(access, request).catch(journeyFailed(hint));

  const askOptions = async (call: Call, userId: string) => {
    const operation = "creation options";
    const begin = { ...call, ...post(operation), mayRepeat: true };
    const first = await callPeer(access, begin).catch(asConfiguration);
    const named = first && fillIn(first, userField, userId.toWellFormed());
    if (named === undefined) throw unusable(access.peer, `The journey has no ${userField.type} for the user.`);
    const asked = await continueJourney({ ...call, ...post(operation, named) }, userHint);
    if (asked === undefined) throw unusable(access.peer, "The journey ended without creation options.");
    if (Buffer.byteLength(JSON.stringify(asked)) > longestStep)
      throw unusable(access.peer, "The journey's step is too long to be stored.");
    const options = optionsIn(asked);
    if (options === undefined) {
      const instead = `The journey has no ${configured["callback-2"]} with options, but ${typesOf(asked)}.`;
      throw unusable(access.peer, instead + hintFor(asked));
    }
    return { asked, options };
  };

  const optionsIn = (of: JourneyStep) => optionsOf(of, configured["callback-2"], defaultRelyingPartyId);

  return {
    id,
    defaultRelyingPartyId,
    longestChallengeMs: timeoutMs,
    longerChallengesHint: "Raise the maximum duration of the journey, and challenge-timeout-milliseconds if it is set.",
    revocationNeeds: "a scope such as fr:am:*, and the right to administer the devices of users in the realm",

    creationOptions: (request, outer) =>
      operate(outer, async call => {
        const startedAt = access.now();
        const { asked, options } = await askOptions(call, request.userId);
        const read = { peer: access.peer, expectedRelyingPartyId: request.relyingPartyId };
        const checked = readCreationOptions(journeyOptions, options, read);
        const askedExpiry = timeoutMs === undefined ? undefined : new Date(plus(startedAt, timeoutMs));
        const expiresAt = earliest(endOf(asked), askedExpiry);
        return {
          options: checked,
          origin: `https://${checked.rp.id}`,
          ...(expiresAt && { expiresAt }),
          ...(askedExpiry && { askedExpiry }),
          idpState: { step: asked },
        };
      }),

    activate: (stored, attestation, name, { signal, notAfter }) =>
      operate(signal, async call => {
        const operation = "registration";
        const failed = (kind: "refused" | "unanswered", detail: string) =>
          new PeerFailure(access.peer, operation, kind, { detail });
        const { data } = idpState.safeParse(stored);
        const body = data && fillIn(data.step, outcomeField, outcomeOf(data.step, attestation, name));
        if (data === undefined || body === undefined)
          throw failed("refused", `The stored state has no step with a ${outcomeField.type}.`);
        const next = await continueJourney({ ...call, ...post(operation, body), notAfter });
        if (next === undefined) return undefined;
        if (optionsIn(next) !== undefined) throw failed("refused", "The journey asks for another credential.");
        // It is not known whether the credential was registered before this step.
        throw failed("unanswered", `The journey continues with ${typesOf(next)}.`);
      }),

    // Reading a user's devices needs permissions that a client does not need for the journey.
    isRegistered: async () => undefined,
    revoke: (stored, { credentialId }, outer) =>
      tokens.use(outer, async call => {
        const { data } = idpState.safeParse(stored);
        await removeDevice(access, call, { realmUrl, user: userNameIn(data && optionsIn(data.step)), credentialId });
      }),
    compensate: async () => {},
  };
}

/** Returns the address of AM: `/am` if the address has no path. */
const amUrlOf = (address: string) => (new URL(address).pathname === "/" ? `${address}/am` : address);

/** Returns an address with its port. AM compares the audience with its own address, which has it too. */
function withPort(address: string): string {
  const { protocol, hostname, port, pathname } = new URL(address);
  return `${protocol}//${hostname}:${port || (protocol === "https:" ? "443" : "80")}${pathname}`;
}

const hintFor = ({ callbacks }: JourneyStep): string =>
  callbacks.some(({ type }) => type === "TextOutputCallback")
    ? ' Switch off "Return challenge as JavaScript" in its WebAuthn node.'
    : "";

/**
 * Before a journey knows the user, it can only refuse the client: the configuration is wrong. A 403 gets no status,
 * because with 403 the failure would count as a refusal of the user.
 */
function asConfiguration(error: unknown): never {
  if (!(error instanceof PeerFailure) || error.isTransient || error.mayComeFromProxy) throw error;
  throw error.as("unauthorized", { status: error.status === 403 ? undefined : error.status });
}

/**
 * A 401 with AM's error code is the end of the journey, by failure or by time-out (code 110). The failure gets no
 * status, because with 401 the call would be repeated with a new token, and the step cannot be used again.
 */
const journeyFailed =
  (hint = "") =>
  (error: unknown): never => {
    if (!(error instanceof PeerFailure) || error.status !== 401 || error.code === undefined) throw error;
    throw error.as("refused", { status: undefined, detail: `${error.detail ?? ""}${hint}` });
  };

export const aic = {
  type: "aic",
  letter: "C",
  settings,
  statusKeys: [
    "type",
    "api-base-url",
    "auth-base-url",
    "realm",
    "journey",
    "client-id",
    "scope",
    "authentication-header",
    "callback-1",
    "callback-2",
    "callback-3",
    "token-id-1",
    "token-id-2",
    "challenge-timeout-milliseconds",
  ],
  vendorHosts: ["*.forgeblocks.com"],
  secretAddresses: () => ["api-base-url", "auth-base-url"],
  connect,
} satisfies IdpKind<AicSettings>;
