import * as z from "zod";
import type { PeerAccess } from "../../../platform/call-peer.ts";
import { PeerFailure } from "../../../platform/peer-failure.ts";
import { earliest, plus } from "../../../platform/time.ts";
import { idpName } from "../../model/peer-names.ts";
import { type PeerApi, peerApi } from "../../peers/access-token.ts";
import type { Idp } from "../contract.ts";
import { readCreationOptions, unusable } from "../creation-options.ts";
import { type IdpDeps, type IdpKind, readIdpState } from "../kind.ts";
import { createPingTokens } from "../ping.ts";
import { keysCall } from "../user-check.ts";
import { journeyOf } from "./journey.ts";
import { removeDevice } from "./remove-device.ts";
import { type AicSettings, settings } from "./settings.ts";
import {
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

function connect(id: string, configured: AicSettings, deps: IdpDeps): Idp {
  const access: PeerAccess = { ...deps, peer: idpName(id), errorOf, maxResponseBytes };
  const { peer, now } = access;
  const realm = `realms/root/realms/${configured.realm.replace("/", "")}`;
  const tokenUrl = `${amUrlOf(configured["auth-base-url"])}/oauth2/${realm}/access_token`;
  const tokens = createPingTokens(access, {
    tokenUrl,
    audience: withPort(tokenUrl),
    clientId: configured["client-id"],
    scope: configured.scope,
    secret: deps.secret,
  });
  const operate = peerApi(access, tokens);
  const realmUrl = `${amUrlOf(configured["api-base-url"])}/json/${realm}`;
  const journey = journeyOf(realmUrl, configured);
  const defaultRelyingPartyId = configured["default-relying-party"] ?? new URL(configured["api-base-url"]).hostname;
  const timeoutMs = configured["challenge-timeout-milliseconds"];
  const userField = { type: configured["callback-1"], tokenId: configured["token-id-1"] };
  const outcomeField = { type: configured["callback-3"], tokenId: configured["token-id-2"], id: "webAuthnOutcome" };

  const optionsIn = (of: JourneyStep) => optionsOf(of, configured["callback-2"], defaultRelyingPartyId);

  /** Returns the step of a new journey that has the creation options of a user, and the options. */
  const askOptions = async (api: PeerApi, userId: string) => {
    const operation = "creation options";
    const first = await journey.begin(api, operation);
    const named = first && fillIn(first, userField, userId.toWellFormed());
    if (named === undefined) throw unusable(peer, `The journey has no ${userField.type} for the user.`);
    const asked = await journey.continueJourney(api, operation, named, { hint: userHint });
    if (asked === undefined) throw unusable(peer, "The journey ended without creation options.");
    if (Buffer.byteLength(JSON.stringify(asked)) > longestStep)
      throw unusable(peer, "The journey's step is too long to be stored.");
    const options = optionsIn(asked);
    if (options !== undefined) return { asked, options };
    const instead = `The journey has no ${configured["callback-2"]} with options, but ${typesOf(asked)}.`;
    throw unusable(peer, instead + hintFor(asked));
  };

  return {
    id,
    defaultRelyingPartyId,
    longerChallengesHint: "Raise the maximum duration of the journey, and challenge-timeout-milliseconds if it is set.",
    revocationNeeds: "a scope such as fr:am:*, and the right to administer the devices of users in the realm",

    creationOptions: (request, outer) =>
      operate(outer, async api => {
        const startedAt = now();
        const { asked, options } = await askOptions(api, request.userId);
        const read = { peer, expectedRelyingPartyId: request.relyingPartyId };
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
      operate(signal, async api => {
        const operation = "registration";
        const failed = (kind: "refused" | "unanswered", detail: string) =>
          new PeerFailure(peer, operation, kind, { detail });
        const of = readIdpState(idpState, stored, peer, operation).step;
        const body = fillIn(of, outcomeField, outcomeOf(of, attestation, name));
        if (body === undefined) throw failed("refused", `The stored step has no ${outcomeField.type}.`);
        const next = await journey.continueJourney(api, operation, body, { notAfter });
        if (next === undefined) return undefined;
        if (optionsIn(next) !== undefined) throw failed("refused", "The journey asks for another credential.");
        // It is not known whether the credential was registered before this step.
        throw failed("unanswered", `The journey continues with ${typesOf(next)}.`);
      }),

    // No read-back: reading a user's devices needs permissions that a client does not need for the journey.
    revoke: (stored, credential, outer) =>
      operate(outer, async api => {
        const user = userNameIn(optionsIn(readIdpState(idpState, stored, peer, keysCall).step));
        await removeDevice(api, peer, { realmUrl, user, ...credential });
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
  statusNumbers: ["challenge-timeout-milliseconds"],
  vendorHosts: ["*.forgeblocks.com"],
  secretAddresses: () => ["api-base-url", "auth-base-url"],
  connect,
} satisfies IdpKind<AicSettings>;
