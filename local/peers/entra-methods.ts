import { createHash, randomBytes } from "node:crypto";
import { decodeAttestationObject } from "@simplewebauthn/server/helpers";
import { type RegisteredCredential, verifyAttestation } from "./authenticator-verify.ts";
import { badRequest, GraphError } from "./entra-errors.ts";
import { type Registration, readRegistration } from "./entra-registration.ts";
import type { State } from "./state-file.ts";

const RP = { id: "login.microsoft.com", name: "Microsoft" };
const ORIGIN = `https://${RP.id}`;
/** About the size of what Graph sends: a sealed token of its own. */
const CHALLENGE_BYTES = 5175;

/** A registered key. Users are compared without case, as principal names are. */
export interface FidoMethod {
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

export interface FidoMethods {
  creationOptions(userId: string, minutes: number): Record<string, unknown>;
  /** Verifies the key against a challenge that was issued for this user. Rejects with `GraphError`. */
  register(userId: string, body: Buffer): Promise<FidoMethod>;
  of(userId: string): readonly FidoMethod[];
  /** `methodId` as {@link methodId} makes it. Throws `GraphError` 404. */
  one(userId: string, methodId: string): FidoMethod;
  remove(userId: string, methodId: string): void;
  expireChallenges(): void;
}

export function createFidoMethods(file: State<FidoMethodsState>, attestationRoot: string): FidoMethods {
  const { challenges, methods } = file.value;
  const of = (userId: string) => methods.filter(method => isSameUser(method.userId, userId));
  const one = (userId: string, id: string) => {
    const found = of(userId).find(method => methodId(method) === id);
    if (found === undefined) throw new GraphError(404, "ResourceNotFound", "The method does not exist for this user.");
    return found;
  };
  /** A challenge is used up by the registration that succeeds with it. */
  const refuseUnlessNew = (userId: string, { id, challenge }: Registration) => {
    if (methods.some(({ credentialId }) => credentialId === id))
      throw new GraphError(409, "Conflict", "A passkey with this credential id is already registered.");
    const issued = challenges[digestOf(challenge)];
    if (issued === undefined || !isSameUser(issued.userId, userId)) throw badRequest("The challenge is not valid.");
    if (issued.expiresAt <= Date.now()) throw badRequest("The challenge has expired.");
  };

  return {
    creationOptions: (userId, minutes) => {
      const challenge = randomBytes(CHALLENGE_BYTES).toString("base64url");
      const expiresAt = Math.floor(Date.now() / 1000 + minutes * 60) * 1000;
      for (const [digest, old] of Object.entries(challenges))
        if (old.expiresAt <= Date.now()) delete challenges[digest];
      challenges[digestOf(challenge)] = { userId, expiresAt };
      file.save();
      return {
        challengeTimeoutDateTime: `${new Date(expiresAt).toISOString().slice(0, 19)}Z`,
        publicKey: { ...publicKeyOf(userId, challenge), excludeCredentials: of(userId).map(excluded) },
      };
    },
    register: async (userId, body) => {
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
      // Another call may have come first meanwhile.
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
    one,
    remove: (userId, id) => {
      methods.splice(methods.indexOf(one(userId, id)), 1);
      file.save();
    },
    expireChallenges: () => {
      for (const challenge of Object.values(challenges)) challenge.expiresAt = 0;
      file.save();
    },
  };
}

/**
 * The id under which Graph lists a key: the credential id in base64url, then the number of padding characters that were left
 * out as one more digit (Microsoft's sample `-2_GRUg2-HYz6_1YG4YRAQ2` is 16 bytes).
 */
export const methodId = ({ credentialId }: FidoMethod): string =>
  `${credentialId}${(4 - (credentialId.length % 4)) % 4}`;

const isSameUser = (one: string, other: string) => one.toLowerCase() === other.toLowerCase();
const digestOf = (challenge: string) =>
  createHash("sha256").update(Buffer.from(challenge, "base64url")).digest("base64url");
const excluded = ({ credentialId }: FidoMethod) => ({ id: credentialId, type: "public-key", transports: [] });

function thumbprintOf({ attestationObject }: RegisteredCredential): string {
  const [certificate] = decodeAttestationObject(attestationObject).get("attStmt").get("x5c") ?? [];
  return createHash("sha1")
    .update(certificate ?? "")
    .digest("hex");
}

const publicKeyOf = (userId: string, challenge: string) => ({
  rp: RP,
  user: {
    id: createHash("sha256").update(userId.toLowerCase()).digest("base64url"),
    name: userId,
    displayName: userId.split("@")[0],
  },
  challenge,
  pubKeyCredParams: [
    { type: "public-key", alg: -7 },
    { type: "public-key", alg: -257 },
  ],
  timeout: 60000,
  authenticatorSelection: {
    authenticatorAttachment: "cross-platform",
    requireResidentKey: true,
    userVerification: "required",
  },
  attestation: "direct",
  extensions: {
    hmacCreateSecret: true,
    enforceCredentialProtectionPolicy: true,
    credentialProtectionPolicy: "userVerificationOptional",
  },
});
