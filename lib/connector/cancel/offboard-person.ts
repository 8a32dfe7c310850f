import { toResult } from "../../platform/async.ts";
import type { Caller } from "../../platform/caller.ts";
import { Fault, isUnavailable } from "../../platform/fault.ts";
import { withLogFields } from "../../platform/log.ts";
import type { ConnectorDeps } from "../deps.ts";
import { type Credential, isRevocable, isRevoking, isUsable } from "../model/credential.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import type { CredentialRequest } from "../model/request.ts";
import { foldName, personList } from "../model/request-lists.ts";
import type { CredentialFilter } from "../model/revocation.ts";
import type { SecurityKey } from "../model/security-key.ts";
import { isTerminal } from "../model/states.ts";
import { logAndContinue } from "../runs/queue.ts";
import { canRemoveIndexRow, isPastDeadline, type Run, startRun } from "../runs/run.ts";
import { cancelRequest } from "./cancel-request.ts";
import { leftToPerson, revokeSelected } from "./revoke-now.ts";

/**
 * The person who leaves. A user id, at one or all IdPs; or an email, which means credentials whose user id is this
 * email, or the external id of a recipient with this email. Letter case does not count.
 */
export type Leaver = { readonly userId: string; readonly idpId?: string | undefined } | { readonly email: string };

/** A credential of the person, or of another user in a request of the recipient. */
interface OffboardedCredential {
  readonly requestId: string;
  readonly key: SecurityKey;
  readonly index: number;
  readonly credential: Credential;
  /** Whether it is the person's. */
  readonly isOwn: boolean;
  /** What the call does, or would do. `none`: there is nothing to do, or `problem` says why the credential is left. */
  readonly action: "cancel" | "revoke" | "none";
  /** Why the person may still sign in with it, now or later. */
  readonly problem?: string;
}

interface OffboardReport {
  readonly credentials: readonly OffboardedCredential[];
  /** The number of `credentials` that are the person's. */
  readonly matched: number;
  /** Whether every request was read, and no listed credential has a problem, can be used or may be registered. */
  readonly isComplete: boolean;
}

const produced = "The key has been produced, so it cannot be cancelled. Repeat the call when the credential is active.";
const shared =
  "The request has open credentials of other users. Cancel it, or repeat the call when this one is active.";
const revokeFailed =
  "Its revocation failed: see `revocation`. Repeat the call when the cause is removed. If the identity provider does " +
  "not have the credential, revoke it with not_registered.";
const otherUser = "The recipient's request has a credential of this user. If it is the same person, name the user_id.";

/**
 * Revokes the credentials of a person who leaves that are active or may be registered, also of archived requests, and
 * cancels open requests that are the person's alone. May be repeated: what is done is not done again.
 * @param options with `dryRun`, changes nothing and reports what it would do
 */
export async function offboardPerson(
  leaver: Leaver,
  requestedBy: Caller,
  deps: ConnectorDeps,
  { dryRun = false }: { readonly dryRun?: boolean } = {},
): Promise<OffboardReport> {
  const run = startRun("on_demand", deps);
  const list = personList("email" in leaver ? leaver.email : leaver.userId);
  const credentials: OffboardedCredential[] = [];
  /** Whether a request was not read (created right now, or damaged). */
  let isUnread = false;
  for await (const entry of deps.requests.allEntries(list)) {
    const { requestId } = entry;
    const read = await toResult(deps.requests.load(requestId));
    if ("error" in read) {
      // A damaged request must not stop the offboarding.
      if (isUnavailable(read.error)) throw read.error;
      logAndContinue(read.error, { credentialRequestId: requestId }, deps);
      isUnread = true;
      continue;
    }
    const loaded = read.value;
    if (loaded === undefined) {
      isUnread ||= !canRemoveIndexRow(entry, { isOrphan: true }, deps);
      continue;
    }
    const done = await withLogFields({ credentialRequestId: requestId }, async () =>
      dryRun ? { loaded } : offboardRequest(loaded, { leaver, requestedBy, run }),
    );
    credentials.push(...reportOf(loaded, done, leaver));
  }
  const hasEnded = (credential: Credential) =>
    !isUsable(credential) && !isRevoking(credential) && credential.mayBeRegistered !== true;
  const isComplete =
    !isUnread && credentials.every(({ credential, problem }) => problem === undefined && hasEnded(credential));
  // The log does not name the person.
  if (!dryRun) deps.log.info("person_offboarded", { credentials: credentials.length, isComplete });
  return { credentials, matched: credentials.filter(({ isOwn }) => isOwn).length, isComplete };
}

/** What became of a request. */
interface Done {
  readonly loaded: LoadedRequest;
  /** Why its cancel or its revocations did not succeed. */
  readonly failures?: { readonly [A in OffboardedCredential["action"]]?: string };
}

/**
 * Revokes credentials that are active or may be registered, and cancels the request if all open credentials are the
 * person's. Revokes first: if a key in production makes the cancel fail, credentials are revoked nevertheless.
 */
async function offboardRequest(
  start: LoadedRequest,
  { leaver, requestedBy, run }: { readonly leaver: Leaver; readonly requestedBy: Caller; readonly run: Run },
): Promise<Done> {
  const { id } = start.request;
  const attempt = async (
    done: Done,
    action: "cancel" | "revoke",
    work: () => Promise<LoadedRequest>,
  ): Promise<Done> => {
    if (!plannedFor(done.loaded, leaver).some(each => each.action === action)) return done;
    const failed = (failure: string) => ({ ...done, failures: { ...done.failures, [action]: failure } });
    if (isPastDeadline(run)) return failed("The call timed out before this credential was handled. Repeat the call.");
    try {
      return { ...done, loaded: await work() };
    } catch (error) {
      const isRefusal = error instanceof Fault && error.kind !== "internal";
      if (!isRefusal) logAndContinue(error, {}, run);
      return failed(isRefusal ? error.message : "The call failed; the log has the reason. Repeat it.");
    }
  };
  const filter = filterOf(leaver, start.request);
  const isToRevoke: CredentialFilter = (key, index) =>
    key.credentials.some((each, at) => at === index && (isRevocable(each) || isRevoking(each))) && filter(key, index);
  const cause = { reason: "offboarded", requestedBy } as const;
  const revoked = await attempt({ loaded: start }, "revoke", () => revokeSelected(id, isToRevoke, cause, run));
  return attempt(revoked, "cancel", () => cancelRequest(id, run));
}

/** Returns what a person has to do about a credential that no call can revoke; otherwise undefined. */
const whyLeft = ({ mayBeRegistered, credentialId }: Credential): string | undefined =>
  mayBeRegistered && credentialId === undefined ? leftToPerson : undefined;

/** Returns the credentials of the request that the report lists, each with the action that is possible now. */
function plannedFor(loaded: LoadedRequest, leaver: Leaver): readonly OffboardedCredential[] {
  const { request } = loaded;
  const filter = filterOf(leaver, request);
  const isRecipients = "email" in leaver && foldName(request.recipient.email) === foldName(leaver.email);
  const all = loaded.keys.flatMap(key =>
    key.credentials.map((credential, index) => ({ key, index, credential, isOwn: filter(key, index) })),
  );
  const isShared = all.some(({ credential, isOwn }) => !isOwn && !isTerminal(credential.state));
  return all.flatMap(({ key, index, credential, isOwn }): OffboardedCredential[] => {
    if (!isOwn && !(isRecipients && isUsable(credential))) return [];
    const of = { requestId: request.id, key, index, credential, isOwn };
    if (!isOwn) return [{ ...of, action: "none", problem: otherUser }];
    const left = whyLeft(credential);
    if (left !== undefined) return [{ ...of, action: "none", problem: left }];
    if (isRevocable(credential)) return [{ ...of, action: "revoke" }];
    if (!isUsable(credential)) return [{ ...of, action: "none" }];
    if (isShared) return [{ ...of, action: "none", problem: shared }];
    if (credential.state !== "processing") return [{ ...of, action: "none", problem: produced }];
    return [{ ...of, action: "cancel" }];
  });
}

/** Returns what was planned, with the credentials as they are now. */
const reportOf = (
  before: LoadedRequest,
  { loaded, failures = {} }: Done,
  leaver: Leaver,
): readonly OffboardedCredential[] =>
  plannedFor(before, leaver).map(planned => {
    const key = loaded.keys.find(({ id }) => id === planned.key.id) ?? planned.key;
    const credential = key.credentials[planned.index] ?? planned.credential;
    const isLeft = isUsable(credential) || credential.mayBeRegistered === true;
    const failed = credential.revocation?.state === "revoke_failed" ? revokeFailed : undefined;
    const problem = (isLeft ? failures[planned.action] : undefined) ?? whyLeft(credential) ?? planned.problem ?? failed;
    return { ...planned, key, credential, ...(problem !== undefined && { problem }) };
  });

/** Returns which credentials of a request are those of the person. */
function filterOf(leaver: Leaver, { recipient }: CredentialRequest): CredentialFilter {
  const isRecipient = "email" in leaver && foldName(recipient.email) === foldName(leaver.email);
  const names = "email" in leaver ? [leaver.email, ...(isRecipient ? [recipient.externalId] : [])] : [leaver.userId];
  const folded = names.map(foldName);
  const idpId = "email" in leaver ? undefined : leaver.idpId;
  return ({ credentials }, index) => {
    const credential = credentials[index];
    if (credential === undefined || (idpId !== undefined && credential.idpId !== idpId)) return false;
    return folded.includes(foldName(credential.userId));
  };
}
