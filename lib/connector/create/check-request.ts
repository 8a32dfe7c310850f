import { Fault, invalidRequest, type Problem } from "../../platform/fault.ts";
import { minutes, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { isRevocable, isUsable } from "../model/credential.ts";
import type { CredentialRequest } from "../model/request.ts";
import { foldName, isForSameUser, personList } from "../model/request-lists.ts";
import { isMailable, isOnSite, type SecurityKey } from "../model/security-key.ts";
import { isTerminal } from "../model/states.ts";
import type { DraftLocation, RequestDraft } from "./draft.ts";

/** What the deployment's settings say about requests. */
type SettingDeps = Pick<ConnectorDeps, "idps" | "pinMailDomains" | "pinMinLength" | "rfpr">;

/**
 * Validates a request against the settings of the deployment and the limits of the delivery service. Calls no peer and
 * stores nothing. Throws Fault `invalid` or `delivery_refused`.
 */
export function checkRequest(draft: RequestDraft, deps: SettingDeps): void {
  const problems = requestProblems(draft, deps);
  if (problems.length > 0) throw invalidRequest(problems);
  const [violation] = deliveryLimitViolations(draft);
  if (violation !== undefined) {
    throw new Fault("delivery_refused", violation.message, {
      data: { code: violation.code, message: violation.message },
    });
  }
}

/** Returns the problems of a request by the deployment's settings: enrollment, IdPs, PIN length, PIN email domains. */
export function requestProblems(
  { keys, emailsTo, pathOf }: RequestDraft,
  { idps, pinMailDomains, pinMinLength, rfpr }: SettingDeps,
): readonly Problem[] {
  // By path, because security keys of one item share its fields.
  const problems = new Map<string, Problem>();
  const refuse = (location: DraftLocation, reason: string): void => {
    const path = pathOf(location);
    problems.set(path, { path, reason });
  };
  if (rfpr === undefined && keys.some(isOnSite))
    refuse({ field: "authenticators" }, "are not served: this deployment has no enrollment service");
  for (const { id: keyId, credentials, pinRequest } of keys) {
    const ordered = credentials.map(credential => ({ idpId: idps.defaultId, ...credential }));
    for (const [index, credential] of ordered.entries()) {
      const { idpId, relyingPartyId } = credential;
      // A security key has one credential for each user and relying party: it overwrites the former one (CTAP 2.1
      // section 6.1.2), whose registration then never works.
      if (ordered.findIndex(isForSameUser(credential)) < index)
        refuse({ field: "user", keyId, index }, "has a credential on this key already, which this one would overwrite");
      const idp = idps.get(idpId);
      if (idp === undefined) refuse({ field: "idp", keyId, index }, notConfigured);
      else if (relyingPartyId !== undefined && relyingPartyId !== idp.defaultRelyingPartyId)
        refuse({ field: "relyingParty", keyId, index }, "is not the identity provider's relying party");
    }
    if (pinRequest !== undefined && pinRequest.length < pinMinLength)
      refuse({ field: "pinLength", keyId }, `must be at least ${pinMinLength}, the shortest PIN of this deployment`);
  }
  for (const [index, address] of emailsTo.entries())
    if (!isMailable(address, pinMailDomains))
      refuse({ field: "emailTo", index }, "is not in a domain that PIN emails may go to");
  return [...problems.values()];
}

export const notConfigured = "is not a configured identity provider";

/**
 * Returns every limit of the delivery service that a request exceeds, in the order in which the service checks them
 * (C5), with the code that it would return and the field in a create body of version 2; none if the request has no
 * shipment. The message names fields in words, because both API versions show it.
 */
export function deliveryLimitViolations({ recipient, shipment }: Pick<RequestDraft, "recipient" | "shipment">) {
  if (shipment === undefined) return [];
  const { mailingAddress, customerReference } = shipment;
  const limits: readonly (readonly [name: string, maxLength: number, value: string | undefined, path: string])[] = [
    ["first name", 15, recipient.firstName, "recipient.first_name"],
    ["last name", 20, recipient.lastName, "recipient.last_name"],
    ["company", 20, recipient.company, "recipient.company"],
    ["email", 80, recipient.email, "recipient.email"],
    ["first street line", 60, mailingAddress.streetLine1, "shipment.mailing_address.street_line1"],
    ["second street line", 60, mailingAddress.streetLine2, "shipment.mailing_address.street_line2"],
    ["city", 60, mailingAddress.city, "shipment.mailing_address.city"],
    ["customer reference", 50, customerReference, "shipment.customer_reference"],
  ];
  return limits.flatMap(([name, maxLength, value = "", path]) => {
    // Counts code points, so that a letter outside the Basic Multilingual Plane counts as one character.
    const { length } = [...value];
    const message = `The ${name} must have at most ${maxLength} characters, not ${length}.`;
    return length > maxLength ? [{ code: "validation_error", message, path }] : [];
  });
}

type Deps = Pick<ConnectorDeps, "requests" | "idps">;

/**
 * Checks the security key that a draft replaces, also one of an archived request: it exists, no open request replaces
 * it, and every user of its active credentials gets a new one. Returns the problems, and as warnings that it has no
 * credential to revoke, or that another request has replaced it.
 */
export async function checkReplacedKey(
  { replaces, keys }: RequestDraft,
  { requests, idps }: Deps,
): Promise<{ readonly problems: readonly Problem[]; readonly warnings: readonly Problem[] }> {
  const refused = (path: string, reason: string) => ({ problems: [{ path, reason }], warnings: [] });
  if (replaces === undefined) return { problems: [], warnings: [] };
  const loaded = await requests.load(replaces.requestId);
  if (loaded === undefined) return refused("replaces.credential_request_id", "is not a credential request");
  const key = loaded.keys.find(({ id }) => id === replaces.keyId);
  if (key === undefined) return refused("replaces.key_id", "is not a key of that request");
  const active = key.credentials.filter(each => each.state === "active" && isUsable(each));
  const ordered = keys
    .flatMap(({ credentials }) => credentials)
    .map(({ idpId = idps.defaultId, userId }) => ({ idpId, userId }));
  const problems = active
    .filter(credential => !ordered.some(isForSameUser(credential)))
    .map(({ userId, idpId }) => ({
      path: "replaces.key_id",
      reason: `has an active credential of ${userId} at ${idpId}, for whom no credential is ordered: it would be revoked without a replacement`,
    }));
  const open = await openReplacement(loaded.request, key, requests);
  if (open !== undefined)
    problems.push({
      path: "replaces.key_id",
      reason: `is being replaced by ${open}: wait for the end of that request, or cancel it`,
    });
  const { replacedBy } = key;
  const warnings = [
    ...(key.credentials.some(isRevocable)
      ? []
      : [{ path: "replaces.revoke", reason: "has no effect now: the key has no credential to revoke" }]),
    ...(replacedBy ? [{ path: "replaces.key_id", reason: `is already replaced by ${replacedBy.requestId}` }] : []),
  ];
  return { problems, warnings };
}

/** Requests of a user that are looked at, oldest first. A linked one is found in any case. */
const maxLookedAt = 50;

/**
 * Returns the id of an open request whose keys replace this one: the linked one or, as a request is linked only when
 * its order is known, one that a user of the key got after the request of the key. A create without an order intent
 * does not count: nothing may ever be ordered for it, and its own repeat must be accepted.
 */
async function openReplacement(
  replaced: CredentialRequest,
  { id: keyId, replacedBy, credentials }: SecurityKey,
  requests: Deps["requests"],
): Promise<string | undefined> {
  const candidates = new Set(replacedBy && [replacedBy.requestId]);
  // The clocks of hosts differ.
  const later = { after: plus(replaced.createdAt, -minutes(5)), top: maxLookedAt };
  for (const user of new Set(credentials.map(({ userId }) => foldName(userId))))
    for (const entry of await requests.entries(personList(user), later)) candidates.add(entry.requestId);
  for (const candidate of candidates) {
    const request = (await requests.load(candidate))?.request;
    if (request?.replaces?.requestId !== replaced.id || request.replaces.keyId !== keyId) continue;
    const mayBeOrdered = request.state !== "received" || request.delivery?.sentAt !== undefined;
    if (mayBeOrdered && !isTerminal(request.state)) return candidate;
  }
  return undefined;
}

/** Throws Fault `invalid` with the problems of the security key that a draft replaces, if it replaces one. */
export async function requireReplacedKey(draft: RequestDraft, deps: Deps): Promise<void> {
  if (draft.replaces === undefined) return;
  const { problems } = await checkReplacedKey(draft, deps);
  if (problems.length > 0) throw invalidRequest(problems);
}
