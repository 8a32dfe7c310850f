import { presentedSession } from "../../lib/auth/sessions/cookies.ts";
import { findLiveSession, type LiveSession, sessionRequired } from "../../lib/auth/sessions/manage-sessions.ts";
import type { Api, Identify } from "../../lib/platform/http/api.ts";
import { type TokenContext, tokenEndpoints } from "../../lib/platform/http/authenticate/token-endpoints.ts";
import type { RoleEndpoint } from "../../lib/platform/http/endpoint.ts";
import { assignOwnOtpkey } from "./client/assign-own-otpkey.ts";
import { authenticate } from "./client/authenticate.ts";
import { changePassword } from "./client/change-password.ts";
import { checkOrigin } from "./client/check-origin.ts";
import { getStatus } from "./client/get-status.ts";
import { login } from "./client/login.ts";
import { logout } from "./client/logout.ts";
import type { AuthContext } from "./context.ts";
import { attributeEndpoints } from "./core/attributes.ts";
import { assignOtpkey } from "./core/otpkeys/assign-otpkey.ts";
import { deleteOtpkey } from "./core/otpkeys/delete-otpkey.ts";
import { disableOtpkey, enableOtpkey } from "./core/otpkeys/enable-otpkey.ts";
import { getOtpkey, getUserOtpkey } from "./core/otpkeys/get-otpkey.ts";
import { importOtpkey } from "./core/otpkeys/import-otpkey.ts";
import { importOtpkeys } from "./core/otpkeys/import-otpkeys.ts";
import { listOtpkeys } from "./core/otpkeys/list-otpkeys.ts";
import { listUserOtpkeys } from "./core/otpkeys/list-user-otpkeys.ts";
import { setValidity } from "./core/otpkeys/set-validity.ts";
import { issueTemporaryCode, revokeTemporaryCode } from "./core/otpkeys/temporary-code.ts";
import { unassignOtpkey } from "./core/otpkeys/unassign-otpkey.ts";
import { createUser } from "./core/users/create-user.ts";
import { deleteUser } from "./core/users/delete-user.ts";
import { disableUser, enableUser } from "./core/users/enable-user.ts";
import { endSessions } from "./core/users/end-sessions.ts";
import { getLock } from "./core/users/get-lock.ts";
import { getUser } from "./core/users/get-user.ts";
import { importUsers } from "./core/users/import-users.ts";
import { listUsers } from "./core/users/list-users.ts";
import { renameUser } from "./core/users/rename-user.ts";
import { resetPassword } from "./core/users/reset-password.ts";
import { unlockUser } from "./core/users/unlock-user.ts";
import { validateUser } from "./core/users/validate-user.ts";
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
