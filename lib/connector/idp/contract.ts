import type { Instant } from "../../platform/time.ts";
import type { Attestation, Challenge } from "../model/webauthn.ts";
import type { UserProblem } from "./user-check.ts";

/** A user whose credentials are to be ordered. */
interface UserQuery {
  readonly userId: string;
  /** Number of ordered credentials. Undefined if creation options are requested too: the IdP then counts. */
  readonly newCredentials?: number | undefined;
}

/** The input of a request for creation options. */
export interface OptionsRequest {
  readonly userId: string;
  readonly relyingPartyId?: string;
  /** Unique to this credential. A registration whose answer was lost is found by it. */
  readonly tag: string;
}

/** The credential of a failed activation that is read back. */
export interface RegistrationQuery {
  readonly credentialId: string;
  /** The name that the activation gave it. Undefined if another credential of the user may have the same one. */
  readonly name?: string | undefined;
  /** The ids of the other credentials on the key and of their registrations: none of these is the credential's. */
  readonly others?: readonly string[];
  /** When the first activation was sent that may have registered it. */
  readonly since: Instant;
}

/** A registered credential that is to be removed. */
export interface RegisteredCredential {
  readonly credentialId: string;
  /** What `activate` or `isRegistered` returned. */
  readonly registrationId?: string | undefined;
  /** Whether an earlier call found it, and the removal was not answered. */
  readonly mayBeRemoved?: boolean | undefined;
}

/** The operation of a PeerFailure of `revoke` if the IdP has the credential, and its removal failed. */
export const removalCall = "revocation";

/** The limits of a call that changes something. It does not start after `notAfter`. */
interface CallLimits {
  readonly signal: AbortSignal;
  readonly notAfter?: Instant;
}

/**
 * An identity provider. Each method ends with its signal and throws `PeerFailure` only. Activation is not idempotent at
 * any IdP, so the caller records an attempt before `activate` and reads it back if it failed (C8).
 */
export interface Idp {
  readonly id: string;
  /** The relying party of this IdP. A request that names another one is rejected before the IdP is called. */
  readonly defaultRelyingPartyId: string;
  /** What an administrator changes so that challenges last longer, as sentences. */
  readonly longerChallengesHint: string;
  /** The right that `revoke` needs, for an administrator. */
  readonly revocationNeeds: string;
  /**
   * Returns what is known to prevent a credential of a user, and warnings. Reads only. Absent if the IdP shows no more
   * than creation options do.
   */
  readonly checkUser?: (query: UserQuery, signal: AbortSignal) => Promise<readonly UserProblem[]>;
  creationOptions(request: OptionsRequest, signal: AbortSignal): Promise<Challenge>;
  /**
   * Registers the credential. Returns the id under which the IdP lists it, if that follows neither from the credential
   * id nor from the IdP state.
   * @param name shown at the IdP, `<name>: <serial>`
   */
  activate(
    idpState: Challenge["idpState"],
    attestation: Attestation,
    name: string,
    limits: CallLimits,
  ): Promise<string | undefined>;
  /**
   * Whether the credential is registered: true, or its id as of `activate`; undefined if what the IdP shows does not
   * tell. Absent if the IdP offers no read-back.
   */
  readonly isRegistered?: (
    idpState: Challenge["idpState"],
    query: RegistrationQuery,
    signal: AbortSignal,
  ) => Promise<boolean | string | undefined>;
  /**
   * Removes the registered credential and no other one. Succeeds too if the IdP says that it is gone. May be repeated.
   * Fails as `refused` if the IdP does not tell which credential it is.
   */
  revoke(idpState: Challenge["idpState"], credential: RegisteredCredential, signal: AbortSignal): Promise<void>;
  /** Removes the registration that `creationOptions` began. Does nothing if the IdP keeps no state. May be repeated. */
  compensate(idpState: Challenge["idpState"], signal: AbortSignal): Promise<void>;
  /**
   * Removes the registration of a `creationOptions` call without an answer, if there is one. Absent if the IdP keeps no
   * state. May be repeated.
   */
  readonly compensateUnanswered?: (request: OptionsRequest, signal: AbortSignal) => Promise<void>;
}

/** The configured identity providers. */
export interface Idps {
  readonly defaultId: string;
  get(id: string): Idp | undefined;
}
