import { presentedSession } from "../../lib/auth/sessions/cookies.ts";
import { findLiveSession, type LiveSession, sessionRequired } from "../../lib/auth/sessions/manage-sessions.ts";
import type { Api, Identify } from "../../lib/platform/http/api.ts";
import { type TokenContext, tokenEndpoints } from "../../lib/platform/http/token-endpoints.ts";
import type { RoleEndpoint } from "../../lib/platform/http/endpoint.ts";
import { checkOrigin } from "./client/check-origin.ts";
import { assignOwnOtpkey, authenticate, changePassword } from "./client/credentials.ts";
import { getStatus, login, logout } from "./client/sessions.ts";
import type { AuthContext } from "./context.ts";
import { attributeEndpoints } from "./core/attributes.ts";
import { importOtpkey, importOtpkeys } from "./core/import-otpkeys.ts";
import { importUsers } from "./core/import-users.ts";
import { disableOtpkey, enableOtpkey, issueTemporaryCode, revokeTemporaryCode, setValidity } from "./core/otpkey-state.ts";
import { assignOtpkey, deleteOtpkey, getOtpkey, getUserOtpkey, listOtpkeys, listUserOtpkeys, unassignOtpkey } from "./core/otpkeys.ts";
import { disableUser, enableUser, endSessions, getLock, resetPassword, unlockUser, validateUser } from "./core/user-access.ts";
import { createUser, deleteUser, getUser, listUsers, renameUser } from "./core/users.ts";
import { refuseClient, refuseCore } from "./errors.ts";

/**
 * All endpoints of the Core API (specification section 4). Keep it private. The names become the names of the
 * functions.
 */
export const core: Api<AuthContext & TokenContext> = {
  name: "core",
  title: "Authentication server, Core API",
  input: "fields",
  // The longest value of an attribute needs 288 KiB in a form: 32,768 characters as nine bytes each (`%E2%82%AC`).
  bodyLimitBytes: 327_680,
  refuse: refuseCore,
  endpoints: {
    coreCreateUser: createUser,
    coreListUsers: listUsers,
    coreGetUser: getUser,
    coreDeleteUser: deleteUser,
    coreImportUsers: importUsers,
    coreRenameUser: renameUser,
    coreResetPassword: resetPassword,
    coreValidateUser: validateUser,
    coreEndSessions: endSessions,
    coreDisableUser: disableUser,
    coreEnableUser: enableUser,
    coreGetLock: getLock,
    coreUnlockUser: unlockUser,
    coreAssignOtpkey: assignOtpkey,
    coreListUserOtpkeys: listUserOtpkeys,
    coreGetOtpkey: getOtpkey,
    coreGetUserOtpkey: getUserOtpkey,
    coreUnassignOtpkey: unassignOtpkey,
    coreDeleteOtpkey: deleteOtpkey,
    coreEnableOtpkey: enableOtpkey,
    coreDisableOtpkey: disableOtpkey,
    coreSetValidity: setValidity,
    coreIssueTemporaryCode: issueTemporaryCode,
    coreRevokeTemporaryCode: revokeTemporaryCode,
    coreImportOtpkey: importOtpkey,
    coreImportOtpkeys: importOtpkeys,
    coreListOtpkeys: listOtpkeys,
    ...attributeEndpoints(),
    ...tokenEndpoints("core"),
  } satisfies Readonly<Record<string, RoleEndpoint<AuthContext & TokenContext>>>,
};

/** All endpoints of the Client API (specification section 4). It is public; its credential is the session. */
export const client: Api<AuthContext, LiveSession> = {
  name: "client",
  title: "Authentication server, Client API",
  input: "fields",
  // Callers are anonymous, and credentials are short.
  bodyLimitBytes: 65_536,
  refuse: refuseClient,
  guard: (call, { rules, publicOrigin: own, originHint: hint }) =>
    checkOrigin(call, rules.allowedOrigins, { own, hint }),
  endpoints: {
    clientAuthenticate: authenticate,
    clientLogin: login,
    clientLogout: logout,
    clientStatus: getStatus,
    clientPassword: changePassword,
    clientAssignOtpkey: assignOwnOtpkey,
  },
};

/** Finds the session of a Client API call, if the endpoint's access requires one (A15). */
export const identifySession =
  (context: AuthContext): Identify<LiveSession> =>
  async (access, call) => {
    if (access === "open" || access === "caller") return {};
    const presented = presentedSession(call.headers, context.rules.secureCookie);
    const session = await findLiveSession(presented, context, { touch: access !== "session_without_refresh" });
    if (session === undefined && access === "optional_session") return {};
    if (session === undefined) throw sessionRequired();
    return { session, logFields: { userId: session.user.value.id } };
  };
