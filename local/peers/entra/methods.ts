import { createHash, randomBytes } from "node:crypto";
import { decodeAttestationObject } from "@simplewebauthn/server/helpers";
import type { Account } from "../idp/accounts.ts";
import { type RegisteredCredential, verifyAttestation } from "../security-key/authenticator-verify.ts";
import type { State } from "../state-file.ts";
import { uuidOf } from "../uuid-of.ts";
import { badRequest, graphRefusal } from "./errors.ts";
import { refuseByPolicy } from "./policy.ts";
import { type Registration, readRegistration } from "./registration.ts";
import type { EntraSettings } from "./settings.ts";

const RP = { id: "login.microsoft.com", name: "Microsoft" };
const ORIGIN = `https://${RP.id}`;
/** About the size of Graph's challenge, which is a sealed token. */
const CHALLENGE_BYTES = 5175;

/** A registered key. */
export interface FidoMethod {
  /** Object id. */
  readonly userId: string;
  readonly credentialId: string;
  readonly displayName: string;
  readonly createdDateTime: string;
  readonly aaGuid: string;
  /** SHA-1 in hex. */
  readonly certificateThumbprint: string;
}

export interface FidoMethodsState {
  /** By SHA-256 of the challenge; `expiresAt` in ms since 1970. */
  readonly challenges: Record<string, { readonly userId: string; expiresAt: number }>;
  readonly methods: FidoMethod[];
}

export type FidoMethods = ReturnType<typeof createFidoMethods>;

export function createFidoMethods(file: State<FidoMethodsState>, attestationRoot: string, chosen: EntraSettings) {
  const { challenges, methods } = file.value;
  const of = (userId: string) => methods.filter(method => method.userId === userId);
  /** A challenge is used up by the registration that succeeds with it. */
  const refuseUnlessNew = (userId: string, { id, challenge }: Registration) => {
    if (methods.some(({ credentialId }) => credentialId === id))
      throw graphRefusal(409, "Conflict", "A passkey with this credential id is already registered.");
    const issued = challenges[digestOf(challenge)];
    if (issued === undefined || issued.userId !== userId) throw badRequest("The challenge is not valid.");
    if (issued.expiresAt <= Date.now()) throw badRequest("The challenge has expired.");
  };

  return {
    creationOptions: ({ id: userId, name }: Account, minutes: number) => {
      const challenge = randomBytes(CHALLENGE_BYTES).toString("base64url");
      const expiresAt = Math.floor(Date.now() / 1000 + minutes * 60) * 1000;
      for (const [digest, old] of Object.entries(challenges))
        if (old.expiresAt <= Date.now()) delete challenges[digest];
      challenges[digestOf(challenge)] = { userId, expiresAt };
      file.save();
      return {
        challengeTimeoutDateTime: `${new Date(expiresAt).toISOString().slice(0, 19)}Z`,
        "@odata.context":
          "https://graph.microsoft.com/beta/$metadata#microsoft.graph.webauthnCredentialCreationOptions",
        "@odata.type": "#microsoft.graph.webauthnCredentialCreationOptions",
        publicKey: { ...publicKeyOf(userId, name, challenge), excludeCredentials: of(userId).map(excluded) },
      };
    },
    /** Verifies a key with a challenge that was issued for this user. */
    register: async (userId: string, body: Buffer): Promise<FidoMethod> => {
      const registration = readRegistration(body);
      refuseUnlessNew(userId, registration);
      const verified = await verifyAttestation({
        ...registration,
        origin: ORIGIN,
        rpId: RP.id,
        root: attestationRoot,
      }).catch((error: unknown) => {
        throw badRequest(`The attestation was refused: ${(error as Error).message}`);
      });
      refuseByPolicy(chosen.policy, verified.aaguid);
      // Another call may have been faster.
      refuseUnlessNew(userId, registration);
      const method: FidoMethod = {
        userId,
        credentialId: registration.id,
        displayName: registration.displayName ?? "Security key",
        createdDateTime: `${new Date().toISOString().slice(0, 19)}Z`,
        aaGuid: verified.aaguid,
        certificateThumbprint: thumbprintOf(verified),
      };
      methods.push(method);
      delete challenges[digestOf(registration.challenge)];
      file.save();
      return method;
    },
    of,
    remove: (userId: string, wanted: string) => {
      const found = of(userId).find(method => methodId(method, chosen.methodIds) === wanted);
      if (found === undefined) throw graphRefusal(404, "ResourceNotFound", "The method does not exist.");
      methods.splice(methods.indexOf(found), 1);
      file.save();
    },
    idOf: (method: FidoMethod) => methodId(method, chosen.methodIds),
    expireChallenges: () => {
      for (const challenge of Object.values(challenges)) challenge.expiresAt = 0;
      file.save();
    },
  };
}

/**
 * Returns the id with which Graph lists a key: the credential id in base64url and, as one more digit, the number of omitted
 * padding characters (Microsoft's sample `-2_GRUg2-HYz6_1YG4YRAQ2` is 16 bytes); or a GUID without relation to it.
 */
const methodId = ({ credentialId }: FidoMethod, ids: EntraSettings["methodIds"]): string =>
  ids === "guid" ? uuidOf(credentialId) : `${credentialId}${(4 - (credentialId.length % 4)) % 4}`;

const digestOf = (challenge: string) =>
  createHash("sha256").update(Buffer.from(challenge, "base64url")).digest("base64url");
const excluded = ({ credentialId }: FidoMethod) => ({ id: credentialId, type: "public-key", transports: [] });

function thumbprintOf({ attestationObject }: RegisteredCredential): string {
  const [certificate] = decodeAttestationObject(attestationObject).get("attStmt").get("x5c") ?? [];
  return createHash("sha1")
    .update(certificate ?? "")
    .digest("hex");
}

/** Adds the annotations of Microsoft's sample, at every depth. */
const publicKeyOf = (userId: string, name: string, challenge: string) => ({
  "@odata.type": "microsoft.graph.webauthnPublicKeyCredentialCreationOptions",
  rp: { "@odata.type": "microsoft.graph.publicKeyCredentialRpEntity", ...RP },
  user: {
    "@odata.type": "microsoft.graph.publicKeyCredentialUserEntity",
    id: createHash("sha256").update(userId).digest("base64url"),
    name,
    displayName: name.split("@")[0],
  },
  challenge,
  "pubKeyCredParams@odata.type": "#Collection(microsoft.graph.webauthnPublicKeyCredentialParameters)",
  pubKeyCredParams: [
    { type: "public-key", alg: -7 },
    { type: "public-key", alg: -257 },
  ],
  timeout: 60000,
  authenticatorSelection: {
    "@odata.type": "microsoft.graph.webauthnAuthenticatorSelectionCriteria",
    "userVerification@odata.type": "#String",
    authenticatorAttachment: "cross-platform",
    requireResidentKey: true,
    userVerification: "required",
  },
  attestation: "direct",
  extensions: {
    "@odata.type": "microsoft.graph.webauthnAuthenticationExtensionsClientInputs",
    nested: [{ "@odata.type": "#microsoft.graph.entity", kept: true }],
    hmacCreateSecret: true,
    enforceCredentialProtectionPolicy: true,
    credentialProtectionPolicy: "userVerificationOptional",
  },
});
