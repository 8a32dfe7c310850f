import type { Examples } from "../operation.ts";

const user = { user: "alice" };
const prefix = { prefix: "vvccccbcdeft" };
const key = { key: "team" };
const otpkey = {
  attributes: { team: "red" },
  prefix: "vvccccbcdeft",
  enabled: true,
  id: 1,
  users: [{ id: 1, name: "alice" }],
};
const done = { status: 204 };

const tokens = (api: "core" | "connector"): Examples => ({
  [`${api}CreateApiToken`]: {
    body: { name: "Help desk" },
    status: 201,
    answer: {
      id: "0a1b2c3d",
      name: "Help desk",
      created_at: "2026-01-31T10:00:00.000Z",
      token: `${api}_0a1b2c3d_an-example-that-no-deployment-accepts`,
    },
  },
  [`${api}ListApiTokens`]: {
    status: 200,
    answer: [{ id: "0a1b2c3d", name: "Help desk", created_at: "2026-01-31T10:00:00.000Z", last_used_on: "2026-02-28" }],
  },
  [`${api}GetCaller`]: {
    status: 200,
    answer: { kind: "api_token", application: "0a1b2c3d", roles: ["read"] },
  },
  [`${api}RevokeApiToken`]: { params: { id: "0a1b2c3d" }, ...done },
});

/** The examples of the endpoints for API tokens. */
export const connectorTokenExamples = tokens("connector");

const attributesOf = (name: string, params: Readonly<Record<string, string>>): Examples => ({
  [`coreList${name}Attributes`]: { params, status: 200, answer: { team: "red" } },
  [`coreSet${name}Attribute`]: { params, body: { ...key, value: "red" }, ...done },
  [`coreGet${name}Attribute`]: { params: { ...params, ...key }, status: 200, answer: "red" },
  [`coreDelete${name}Attribute`]: { params: { ...params, ...key }, ...done },
});

/** Examples of the Core API: alice has the OTP key `vvccccbcdeft`, whose secret is the one of RFC 4226. */
export const coreExamples: Examples = {
  coreCreateUser: {
    body: { username: "alice", password: "correct horse battery" },
    status: 201,
    answer: { id: 1, name: "alice" },
  },
  coreListUsers: { query: { team: "red", $top: "100" }, status: 200, answer: [{ id: 1, name: "alice" }] },
  coreGetUser: {
    params: user,
    status: 200,
    answer: {
      attributes: { team: "red" },
      otpkeys: ["vvccccbcdeft"],
      id: 1,
      name: "alice",
      enabled: true,
    },
  },
  coreDeleteUser: { params: { user: "alice.liddell" }, ...done },
  coreRenameUser: {
    params: user,
    body: { username: "alice.liddell" },
    status: 200,
    answer: { id: 1, name: "alice.liddell" },
  },
  coreResetPassword: { params: user, body: { password: "another good password" }, ...done },
  coreValidateUser: {
    params: user,
    body: { password: "correct horse battery", otp: "vvccccbcdeft755224" },
    status: 200,
    answer: { valid_password: true, valid_otp: true },
  },
  coreEndSessions: { params: user, ...done },
  coreDisableUser: { params: user, ...done },
  coreEnableUser: { params: user, ...done },
  coreGetLock: {
    params: user,
    status: 200,
    answer: {
      failures: 10,
      locked_until: "2026-01-31T10:00:30.000Z",
      running_attempts: 0,
      last_refusal: { at: "2026-01-31T10:00:00.000Z", reason: "wrong_password" },
    },
  },
  coreUnlockUser: { params: user, ...done },
  coreAssignOtpkey: { params: user, body: { otpkey: "vvccccbcdeft" }, ...done },
  coreListUserOtpkeys: { params: user, status: 200, answer: ["vvccccbcdeft"] },
  coreGetOtpkey: { params: prefix, status: 200, answer: otpkey },
  coreGetUserOtpkey: { params: { ...user, ...prefix }, status: 200, answer: otpkey },
  coreUnassignOtpkey: { params: { ...user, ...prefix }, ...done },
  coreDeleteOtpkey: { params: prefix, ...done },
  coreEnableOtpkey: { params: prefix, ...done },
  coreDisableOtpkey: { params: prefix, body: { end_sessions: true }, ...done },
  coreSetValidity: { params: prefix, body: { valid_until: "2036-12-31T23:00:00Z" }, ...done },
  coreIssueTemporaryCode: {
    params: prefix,
    body: { uses: 3, valid_until: "2026-02-01T10:00:00.000Z" },
    status: 201,
    answer: { code: "vvccccbcdeft-0000-EXMP-0000-CDE0", uses: 3, valid_until: "2026-02-01T10:00:00.000Z" },
  },
  coreRevokeTemporaryCode: { params: prefix, ...done },
  coreImportOtpkey: {
    body: { prefix: "vvccccbcdeft", kind: "hotp", secret: "3132333435363738393031323334353637383930", digits: 6 },
    status: 201,
    answer: { attributes: {}, prefix: "vvccccbcdeft", enabled: true, id: 1 },
  },
  coreImportOtpkeys: {
    body: {
      otpkeys: [
        { prefix: "vvccccbcdefv", kind: "hotp", secret: "3132333435363738393031323334353637383930", username: "alice" },
        { prefix: "vvccccbcdefu", kind: "totp", secret: "3132" },
      ],
    },
    status: 200,
    answer: {
      results: [
        { index: 0, prefix: "vvccccbcdefv", status: 201 },
        {
          index: 1,
          prefix: "vvccccbcdefu",
          status: 400,
          error: "secret must have 14 to 64 bytes",
          problems: [{ field: "secret", reason: "must have 14 to 64 bytes" }],
        },
      ],
    },
  },
  coreImportUsers: {
    body: {
      users: [
        {
          username: "bob",
          password_hash: "$2b$12$vI8aWBnW3fID.ZQ4/zo1GeQ3kM4mXc3xbIKGGiZFAbTj1GwYMbUvK",
          attributes: { team: "red" },
          otpkeys: ["vvccccbcdeft"],
        },
        { username: "carol", password: "carol" },
      ],
    },
    status: 200,
    answer: {
      results: [
        { index: 0, username: "bob", id: 2, status: 201 },
        {
          index: 1,
          username: "carol",
          status: 400,
          error: "password must have at least 8 characters",
          problems: [{ field: "password", reason: "must have at least 8 characters" }],
        },
      ],
    },
  },
  coreListOtpkeys: {
    query: { $prefix: "vvcccc", $top: "100" },
    status: 200,
    answer: [{ id: 1, prefix: "vvccccbcdeft", enabled: true }],
  },
  ...attributesOf("User", user),
  ...attributesOf("Otpkey", prefix),
  ...attributesOf("UserOtpkey", { ...user, ...prefix }),
  ...tokens("core"),
};
