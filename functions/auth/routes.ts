import { findLiveSession, type LiveSession, sessionRequired } from "../../lib/auth/sessions/manage-sessions.ts";
import type { Api, Identify } from "../../lib/platform/http/api.ts";
import { type ApiTokenContext, apiTokenEndpoints } from "../../lib/platform/http/api-token-endpoints.ts";
import type { RoleEndpoint } from "../../lib/platform/http/endpoint.ts";
import { addLogFields } from "../../lib/platform/log.ts";
import { checkOrigin } from "./client/check-origin.ts";
import * as credentials from "./client/credentials.ts";
import * as sessions from "./client/sessions.ts";
import type { AuthContext } from "./context.ts";
import { attributeEndpoints } from "./core/attributes.ts";
import * as otpkeyImports from "./core/import-otpkeys.ts";
import { importUsers } from "./core/import-users.ts";
import * as otpkeyAccess from "./core/otpkey-access.ts";
import * as otpkeys from "./core/otpkeys.ts";
import * as userAccess from "./core/user-access.ts";
import * as users from "./core/users.ts";
import { refuseClient, refuseCore } from "./errors.ts";

/**
 * All endpoints of the Core API (specification section 4). Keep it private. The names become the names of the
 * functions.
 */
export const core: Api<AuthContext & ApiTokenContext> = {
  name: "core",
  title: "Authentication server, Core API",
  input: "fields",
  // The longest value of an attribute needs 288 KiB in a form: 32,768 characters as nine bytes each (`%E2%82%AC`).
  bodyLimitBytes: 327_680,
  refuse: refuseCore,
  endpoints: {
    coreCreateUser: users.createUser,
    coreListUsers: users.listUsers,
    coreGetUser: users.getUser,
    coreDeleteUser: users.deleteUser,
    coreImportUsers: importUsers,
    coreRenameUser: users.renameUser,
    coreResetPassword: userAccess.resetPassword,
    coreValidateUser: userAccess.validateUser,
    coreEndSessions: userAccess.endSessions,
    coreDisableUser: userAccess.disableUser,
    coreEnableUser: userAccess.enableUser,
    coreGetLock: userAccess.getLock,
    coreUnlockUser: userAccess.unlockUser,
    coreAssignOtpkey: otpkeys.assignOtpkey,
    coreListUserOtpkeys: otpkeys.listUserOtpkeys,
    coreGetOtpkey: otpkeys.getOtpkey,
    coreGetUserOtpkey: otpkeys.getUserOtpkey,
    coreUnassignOtpkey: otpkeys.unassignOtpkey,
    coreDeleteOtpkey: otpkeys.deleteOtpkey,
    coreEnableOtpkey: otpkeyAccess.enableOtpkey,
    coreDisableOtpkey: otpkeyAccess.disableOtpkey,
    coreSetValidity: otpkeyAccess.setValidity,
    coreIssueTemporaryCode: otpkeyAccess.issueTemporaryCode,
    coreRevokeTemporaryCode: otpkeyAccess.revokeTemporaryCode,
    coreImportOtpkey: otpkeyImports.importOtpkey,
    coreImportOtpkeys: otpkeyImports.importOtpkeys,
    coreListOtpkeys: otpkeys.listOtpkeys,
    ...attributeEndpoints(),
    ...apiTokenEndpoints("core"),
  } satisfies Readonly<Record<string, RoleEndpoint<AuthContext & ApiTokenContext>>>,
};

/** All endpoints of the Client API (specification section 4). It is public; its credential is the session. */
export const client: Api<AuthContext, LiveSession> = {
  name: "client",
  title: "Authentication server, Client API",
  input: "fields",
  // Forms of browsers send more.
  ignoresUnknown: true,
  // Callers are anonymous, and credentials are short.
  bodyLimitBytes: 65_536,
  refuse: refuseClient,
  guard: checkOrigin,
  endpoints: {
    clientAuthenticate: credentials.authenticate,
    clientLogin: sessions.login,
    clientLogout: sessions.logout,
    clientStatus: sessions.getStatus,
    clientPassword: credentials.changePassword,
    clientAssignOtpkey: credentials.assignOwnOtpkey,
  },
};

/** Finds the session of a Client API call, if the endpoint's access requires one (A15). */
export const identifySession =
  (context: AuthContext): Identify<LiveSession> =>
  async (access, call) => {
    if (access === "open" || access === "caller") return {};
    const value = sessions.readPresented("Session", call.headers, context.rules.secureCookie);
    const session = await findLiveSession(value, context, { touch: access !== "session_without_refresh" });
    if (session === undefined && access === "optional_session") return {};
    if (session === undefined) throw sessionRequired();
    addLogFields({ userId: session.user.value.id });
    return { session };
  };
