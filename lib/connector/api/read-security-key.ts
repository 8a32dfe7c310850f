import * as z from "zod";
import { omitUndefined } from "../../platform/collections.ts";
import { type Credential, credentialMessage, type Revocation, shownState } from "../model/credential.ts";
import { displayName, pinMailMessage, type SecurityKey } from "../model/security-key.ts";
import { isTerminal, revocationReasons, securityKeyStates, shownCredentialStates } from "../model/states.ts";

/** The state of a credential in reads and filters. */
export const credentialState = z.enum(shownCredentialStates).meta({ id: "CredentialState" });

/** Whether a credential is in doubt, in reads and the register. */
export const mayBeRegistered = () =>
  z
    .boolean()
    .optional()
    .describe("True if it ended although the IdP may have registered it: revoke it, or check there.");

const credentialV2 = z.lazy(() =>
  z
    .object({
      idp_id: z.string().describe("The IdP that the credential is for."),
      relying_party_id: z.string().optional().describe("As asked for, then as the IdP has it."),
      user_id: z.string().describe("The user at the relying party."),
      state: credentialState.describe(
        "`activation_pending`: on the key, not yet accepted by the IdP. `revoking`: being removed there. `revoked`: " +
          "removed. `revoke_failed`: not tried again; revoke it once more.",
      ),
      retryable_until: z.iso.datetime().optional().describe("Until then a failing activation is tried again."),
      error_message: z.string().optional().describe("The last error of the activation or of the PIN email."),
      may_be_registered: mayBeRegistered(),
      revocation: revocationV2.optional().describe("Present where the removal at the IdP was asked for."),
    })
    .meta({ id: "Credential", description: "A credential on a security key, for one user at one identity provider." }),
);

/** Version 2 read model of a security key and its credentials. */
export const securityKeyV2 = z.lazy(() =>
  z
    .object({
      id: z.string().describe("Names the key within its request."),
      name: z.string().describe("Custom name, or `Pre-Reg Key`."),
      serial_number: z.string().optional().describe("Serial number, once the key maker or the enrollment reports it."),
      state: z
        .enum(securityKeyStates)
        .describe("`processing` while any credential is open; `partial`: some are active, some are not."),
      credentials: z.array(credentialV2).describe("In the order of the create."),
      replaced_by: z.string().optional().describe("The latest request whose keys replace this one, unless it failed."),
    })
    .meta({ id: "SecurityKey", description: "A security key or app passkey of a request." }),
);

/** Returns a security key as in reads. */
export const readSecurityKey = (key: SecurityKey): z.output<typeof securityKeyV2> =>
  omitUndefined({
    id: key.id,
    name: displayName(key),
    serial_number: key.serial,
    state: key.state,
    credentials: key.credentials.map(credential => readCredential(credential, key)),
    replaced_by: key.replacedBy?.requestId,
  });

/** Returns a credential as in reads. Active credentials show a failed PIN email, which changes no state (C14). */
const readCredential = (credential: Credential, key: SecurityKey): z.output<typeof credentialV2> =>
  omitUndefined({
    idp_id: credential.idpId,
    relying_party_id: credential.relyingPartyId,
    user_id: credential.userId,
    state: shownState(credential),
    retryable_until: isTerminal(credential.state) ? undefined : credential.retryableUntil,
    error_message:
      credentialMessage(credential, key) ?? (credential.state === "active" ? pinMailMessage(key.mail) : undefined),
    may_be_registered: credential.mayBeRegistered,
    revocation: credential.revocation && readRevocation(credential.revocation),
  });

/** Version 2 read model of a revocation. */
export const revocationV2 = z.lazy(() =>
  z.object({
    reason: z.enum(revocationReasons).describe("Why it was asked for."),
    requested_at: z.iso.datetime().describe("When it was asked for."),
    revoked_at: z.iso
      .datetime()
      .optional()
      .describe("When the IdP confirmed the removal, or a caller that it does not have it."),
    failed_attempts: z.int().min(0).describe("Attempts that failed."),
    error_message: z.string().optional().describe("Why the last attempt failed."),
  }),
);

/** Returns a revocation in its read model. */
export const readRevocation = ({ state, reason, requestedAt, revokedAt, retry }: Revocation) =>
  omitUndefined({
    reason,
    requested_at: requestedAt,
    revoked_at: revokedAt,
    failed_attempts: retry.attempts,
    error_message: state === "revoked" ? undefined : retry.lastError,
  });
