import * as z from "zod";
import { PeerFailure } from "../../../peer-failure.ts";
import { type Instant, plus } from "../../../time.ts";
import { callPeer, type PeerAccess, type PeerRequest, withTimeout } from "../../http/call.ts";
import { retryPeer } from "../../http/retry.ts";
import type { Idp } from "../contract.ts";
import { domain, endpointUrl, type IdpDeps, type IdpKind, nonEmpty, wholeNumber } from "../kind.ts";
import { createPingTokens } from "../pingone/tokens.ts";
import { answered, end, endOf, type Field, type Step, step, typesOf } from "./step.ts";
import { optionsOf, outcomeOf, refusalOf } from "./wire.ts";

const ownHeaders = ["accept", "accept-api-version", "connection", "content-length", "content-type", "host"];

/** Kind C of the specification's table. The callbacks' defaults are those of a journey that asks for a name, then for the key. */
const settings = z.strictObject({
  type: z.literal("aic"),
  "api-base-url": endpointUrl,
  "auth-base-url": endpointUrl,
  realm: z.string().regex(/^\/?[A-Za-z0-9_-]+$/, "must be one realm"),
  journey: nonEmpty,
  "client-id": nonEmpty,
  scope: nonEmpty.optional(),
  "authentication-header": z
    .string()
    .regex(/^[A-Za-z0-9-]+$/, "must be the name of a header")
    .refine(name => !ownHeaders.includes(name.toLowerCase()), "is a header with a meaning of its own")
    .default("Authorization"),
  "callback-1": nonEmpty.default("NameCallback"),
  "callback-2": nonEmpty.default("MetadataCallback"),
  "callback-3": nonEmpty.default("HiddenValueCallback"),
  "token-id-1": nonEmpty.default("IDToken1"),
  "token-id-2": nonEmpty.default("IDToken2"),
  "challenge-timeout-milliseconds": wholeNumber(1000, 31_536_000_000).optional(),
  /** By default the host of `api-base-url`, as in a WebAuthn node without a relying party of its own. */
  "default-relying-party": domain.optional(),
});

type AicSettings = z.output<typeof settings>;

const idpState = z.object({ step });
/** Bytes of a step as JSON: sealed it is a third longer, and a key's row holds 20 of them (decisions C5, C18). */
const longestStep = 16_000;
/** Bytes of the longest answer: more than a step has, so that one that is too long is named as such. */
const longestAnswer = 64 * 1024;
const ended = z.union([step, end]);
type Call = Required<Pick<PeerRequest<unknown>, "headers" | "signal">>;

function connect(id: string, told: AicSettings, deps: IdpDeps): Idp {
  const access: PeerAccess = { ...deps, peer: `IdP ${id}`, refusalOf, longestAnswer };
  const realm = `realms/root/realms/${told.realm.replace("/", "")}`;
  const tokens = createPingTokens(access, {
    tokenUrl: `${amUnder(told["auth-base-url"])}/oauth2/${realm}/access_token`,
    clientId: told["client-id"],
    scope: told.scope,
    secret: deps.secret,
  });
  // Without noSession the end of the journey would hand the connector a session of the user.
  const query = new URLSearchParams({ authIndexType: "service", authIndexValue: told.journey, noSession: "true" });
  const url = `${amUnder(told["api-base-url"])}/json/${realm}/authenticate?${query}`;
  const userField: Field = { type: told["callback-1"], tokenId: told["token-id-1"] };
  const outcomeField: Field = { type: told["callback-3"], tokenId: told["token-id-2"], id: "webAuthnOutcome" };

  const failed = (operation: string, kind: "refused" | "unanswered", detail: string, code?: string) =>
    new PeerFailure(access.peer, operation, kind, { code, detail });
  /** One operation with its token and within its time. */
  const operate = <T>(outer: AbortSignal, work: (call: Call) => Promise<T>) =>
    withTimeout(deps.timeLimitMs, outer, signal =>
      tokens.use(signal, token => work({ headers: headersFor(token), signal })),
    );
  /** The token goes where the journey looks for it. AM refuses calls without a version of its API. */
  const headersFor = (token: string) => ({
    [told["authentication-header"]]: `Bearer ${token}`,
    "accept-api-version": "resource=2.1, protocol=1.0",
    "content-type": "application/json",
  });
  const post = (operation: string, body?: Step) => ({ operation, method: "POST", url, body, answer: ended }) as const;

  /** Goes on with a journey; its step is spent with that, whatever comes back (decision C8). */
  const goOn = (request: PeerRequest<Step | undefined>) =>
    callPeer(access, request).catch(journeyFailed(request.operation));

  const askOptions = async (call: Call, userId: string) => {
    const operation = "creation options";
    const first = await retryPeer(access, { ...call, ...post(operation) }).catch(asConfiguration(operation));
    const named = first && answered(first, userField, userId.toWellFormed());
    if (named === undefined) throw failed(operation, "refused", `The journey has no ${userField.type} for the user.`);
    const asked = await goOn({ ...call, ...post(operation, named) });
    if (asked === undefined) throw failed(operation, "refused", "The journey ended without creation options.");
    if (Buffer.byteLength(JSON.stringify(asked)) > longestStep)
      throw failed(operation, "refused", "The journey's step is too long to be kept.");
    const options = optionsOf(asked, told["callback-2"]);
    if (options === "unreadable") throw failed(operation, "unanswered", "The creation options are not readable.");
    if (options === "no relying party") throw failed(operation, "refused", "The journey names no relying party.");
    if (options === "absent")
      throw failed(
        operation,
        "refused",
        `The journey has no ${told["callback-2"]} with options, but ${typesOf(asked)}.`,
      );
    return { asked, options };
  };

  return {
    id,
    defaultRelyingPartyId: told["default-relying-party"] ?? new URL(told["api-base-url"]).hostname,

    creationOptions: (wanted, outer) =>
      operate(outer, async call => {
        const begun = access.now();
        const { asked, options } = await askOptions(call, wanted.userId);
        const { rp } = options;
        if (wanted.relyingPartyId !== undefined && wanted.relyingPartyId !== rp.id) {
          const detail = `The relying party of this IdP is ${rp.id}: default-relying-party in its configuration is another.`;
          throw failed("creation options", "refused", detail, "relying_party");
        }
        const expiresAt = firstEnd(endOf(asked), begun, told["challenge-timeout-milliseconds"]);
        return { options, origin: `https://${rp.id}`, ...(expiresAt && { expiresAt }), idpState: { step: asked } };
      }),

    activate: (stored, attestation, name, { signal, notAfter }) =>
      operate(signal, async call => {
        const operation = "registration";
        const { data } = idpState.safeParse(stored);
        const body = data && answered(data.step, outcomeField, outcomeOf(data.step, attestation, name));
        if (data === undefined || body === undefined)
          throw failed(operation, "refused", `No step with a ${outcomeField.type} is known.`);
        const next = await goOn({ ...call, ...post(operation, body), notAfter });
        if (next === undefined) return;
        if (optionsOf(next, told["callback-2"]) !== "absent")
          throw failed(operation, "refused", "The journey asks for another credential.");
        // Whether it took the credential before it went on is not to be seen.
        throw failed(operation, "unanswered", `The journey goes on with ${typesOf(next)}.`);
      }),

    // Reading a user's devices takes rights that the settings of this kind do not provide for (decision C8).
    isRegistered: async () => undefined,
    compensate: async () => {},
  };
}

/** An address that is a host alone means AM's usual place there. */
const amUnder = (address: string) => (new URL(address).pathname === "/" ? `${address}/am` : address);

function firstEnd(told: Date | undefined, begun: Instant, timeoutMs: number | undefined): Date | undefined {
  const set = timeoutMs === undefined ? undefined : new Date(plus(begun, timeoutMs));
  return told === undefined || (set !== undefined && set < told) ? set : told;
}

/** Before it was told a user, a journey refuses only who asks or how. */
const asConfiguration =
  (operation: string) =>
  (error: unknown): never => {
    if (!(error instanceof PeerFailure) || error.passing) throw error;
    const { peer, status, code, detail } = error;
    throw new PeerFailure(peer, operation, "unauthorized", { status, code, detail, cause: error });
  };

/**
 * A 401 in AM's words is the journey's own end, by failure or by time-out (code 110). Without its status: a new token would not
 * help, and the step is spent.
 */
const journeyFailed =
  (operation: string) =>
  (error: unknown): never => {
    if (!(error instanceof PeerFailure) || error.status !== 401 || error.code === undefined) throw error;
    const { peer, code, detail } = error;
    throw new PeerFailure(peer, operation, "refused", { code, detail, cause: error });
  };

export const aic = { settings, connect } satisfies IdpKind<AicSettings>;
