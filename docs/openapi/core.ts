// Written by npm run openapi from core.json: types for openapi-fetch.

export interface paths {
  "/core/users": {
    /** Create a user */
    post: {
      parameters: {};
      requestBody?: { content: { "application/json": {
        /** Unique, ignoring case. Must not contain `/`, `\`, `?`, `#`, `%2F`, or `%80` to `%FF`. */
        username: string;
        /** The password. An empty one means no password. */
        password: string;
        /** Whether the user must change the password before the next session; default: false. */
        must_change?: boolean;
      } } };
      responses: {
        201: { content: { "application/json": UserSummary } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
    /** List users, all or those that match every filter: `otpkey`, and attributes by their keys */
    get: {
      parameters: {
        query?: {
          /** Prefix of an assigned otpkey. */
          otpkey?: string;
          /** Maximum number of entries, 1 to 1000. Without it the response is the whole list. */
          $top?: number;
          /** Start of the page, from the link to it. */
          $skiptoken?: string;
          /** Beginning of the username, ignoring case. The list is then sorted by name. */
          $prefix?: string;
          /** Only users who are enabled, or only disabled ones. */
          $enabled?: boolean;
          /** `imported`: only users who have not signed in with their password since its hash was imported. */
          $password?: "imported";
          /** Only users who were created before this time and have not signed in since. */
          $unused_since?: string;
        };
      };
      responses: {
        200: { content: { "application/json": Array<UserSummary> } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/users/{user}": {
    /** View a user */
    get: {
      parameters: {
        path: { user: string };
      };
      responses: {
        200: { content: { "application/json": User } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
    /** Delete a user with attributes, assignments and sessions */
    delete: {
      parameters: {
        path: { user: string };
      };
      responses: {
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/users/batch": {
    /** Import up to 100 users */
    post: {
      parameters: {};
      requestBody: { content: { "application/json": {
        /** The users. */
        users: Array<UserImport>;
      } } };
      responses: {
        200: { content: { "application/json": UserImportResults } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/users/{user}/rename": {
    /** Rename a user */
    post: {
      parameters: {
        path: { user: string };
      };
      requestBody?: { content: { "application/json": {
        /** A username. */
        username: string;
      } } };
      responses: {
        200: { content: { "application/json": UserSummary } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/users/{user}/reset": {
    /** Set a user's password and end the user's sessions */
    post: {
      parameters: {
        path: { user: string };
      };
      requestBody?: { content: { "application/json": {
        /** The new password. An empty one means no password. Required without `issue_code`. */
        password?: string;
        /** Whether the user must change the password before the next session; default: false. */
        must_change?: boolean;
        /** Whether to issue a one-time code in place of a password; default: false. */
        issue_code?: boolean;
      } } };
      responses: {
        201: { content: { "application/json": PasswordCode } };
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/users/{user}/validate": {
    /** Check a password and an OTP of a user separately */
    post: {
      parameters: {
        path: { user: string };
      };
      requestBody?: { content: { "application/json": {
        /** A password. */
        password?: string;
        /** An OTP. It is used up. */
        otp?: string;
      } } };
      responses: {
        200: { content: { "application/json": ValidationResult } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/users/{user}/sessions/delete": {
    /** End all sessions of a user */
    post: {
      parameters: {
        path: { user: string };
      };
      responses: {
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/users/{user}/disable": {
    /** Disable a user */
    post: {
      parameters: {
        path: { user: string };
      };
      responses: {
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/users/{user}/enable": {
    /** Enable a user */
    post: {
      parameters: {
        path: { user: string };
      };
      responses: {
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/users/{user}/lock": {
    /** View the failed attempts of a username */
    get: {
      parameters: {
        path: { user: string };
      };
      responses: {
        200: { content: { "application/json": Lock } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/users/{user}/unlock": {
    /** Clear the failed attempts of a username */
    post: {
      parameters: {
        path: { user: string };
      };
      responses: {
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/users/{user}/otpkeys": {
    /** Assign an otpkey to a user; an unknown prefix creates the otpkey */
    post: {
      parameters: {
        path: { user: string };
      };
      requestBody?: { content: { "application/json": {
        /** The prefix to assign. An OTP of an existing otpkey is accepted in its place. */
        otpkey: string;
      } } };
      responses: {
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
    /** List the otpkeys of a user */
    get: {
      parameters: {
        path: { user: string };
      };
      responses: {
        200: { content: { "application/json": Array<string> } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/otpkeys/{prefix}": {
    /** View an otpkey */
    get: {
      parameters: {
        path: { prefix: string };
      };
      responses: {
        200: { content: { "application/json": OtpKey } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
    /** Delete an otpkey, its data and every assignment */
    delete: {
      parameters: {
        path: { prefix: string };
      };
      responses: {
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/users/{user}/otpkeys/{prefix}": {
    /** View an otpkey of a user */
    get: {
      parameters: {
        path: { user: string; prefix: string };
      };
      responses: {
        200: { content: { "application/json": OtpKey } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
    /** Unassign an otpkey from a user */
    delete: {
      parameters: {
        path: { user: string; prefix: string };
      };
      responses: {
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/otpkeys/{prefix}/enable": {
    /** Enable an otpkey, also one that wrong OTPs stopped */
    post: {
      parameters: {
        path: { prefix: string };
      };
      responses: {
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/otpkeys/{prefix}/disable": {
    /** Disable an otpkey */
    post: {
      parameters: {
        path: { prefix: string };
      };
      requestBody?: { content: { "application/json": {
        /** Whether to end the sessions that were opened with the otpkey; default: false. */
        end_sessions?: boolean;
      } } };
      responses: {
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/otpkeys/{prefix}/validity": {
    /** Set the time in which OTPs of an otpkey are accepted */
    post: {
      parameters: {
        path: { prefix: string };
      };
      requestBody?: { content: { "application/json": {
        /** OTPs are accepted from this time on, ISO 8601. */
        valid_from?: string;
        /** OTPs are accepted before this time, ISO 8601. */
        valid_until?: string;
      } } };
      responses: {
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/otpkeys/{prefix}/temporary-code": {
    /** Disable a lost otpkey and issue a temporary code */
    post: {
      parameters: {
        path: { prefix: string };
      };
      requestBody?: { content: { "application/json": {
        /** How often the code is accepted, 1 to 100; default: 1. */
        uses?: number;
        /** The code is accepted before this time, ISO 8601; at most 31 days away, and within the validity of the otpkey. */
        valid_until: string;
        /** Whether to end the sessions that were opened with the otpkey; default: false. */
        end_sessions?: boolean;
      } } };
      responses: {
        201: { content: { "application/json": TemporaryCode } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
    /** Revoke the temporary code of an otpkey */
    delete: {
      parameters: {
        path: { prefix: string };
      };
      responses: {
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/otpkeys": {
    /** Import an otpkey with its secret */
    post: {
      parameters: {};
      requestBody?: { content: { "application/json": OtpKeyImport } };
      responses: {
        200: { content: { "application/json": OtpKey } };
        201: { content: { "application/json": OtpKey } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
    /** List otpkeys */
    get: {
      parameters: {
        query?: {
          /** Maximum number of entries, 1 to 1000. Without it the response is the whole list. */
          $top?: number;
          /** Start of the page, from the link to it. */
          $skiptoken?: string;
          /** Only enabled otpkeys, or only disabled ones. */
          enabled?: boolean;
          /** Only otpkeys that wrong OTPs stopped, or only others. */
          stopped?: boolean;
          /** Only otpkeys that a user has, or only those of the stock. An assignment that failed half-way counts for an hour. */
          assigned?: boolean;
          /** Beginning of the prefix. */
          $prefix?: string;
          /** Only otpkeys that were created before this time and have had no valid OTP since. */
          unused_since?: string;
        };
      };
      responses: {
        200: { content: { "application/json": Array<OtpKeySummary> } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/otpkeys/batch": {
    /** Import up to 100 otpkeys with their secrets */
    post: {
      parameters: {};
      requestBody: { content: { "application/json": {
        /** The OTP keys, each with the fields of `POST /otpkeys`. */
        otpkeys: Array<OtpKeyImport>;
      } } };
      responses: {
        200: { content: { "application/json": OtpKeyImportResults } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/users/{user}/attributes": {
    /** List the attributes of a user */
    get: {
      parameters: {
        path: { user: string };
      };
      responses: {
        200: { content: { "application/json": Attributes } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
    /** Set an attribute of a user */
    post: {
      parameters: {
        path: { user: string };
      };
      requestBody?: { content: { "application/json": {
        /** The attribute's key. */
        key: string;
        /** The attribute's value. It replaces an existing value. */
        value: string;
      } } };
      responses: {
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/users/{user}/attributes/{key}": {
    /** Read an attribute of a user */
    get: {
      parameters: {
        path: { user: string; key: string };
      };
      responses: {
        200: { content: { "application/json": string | null } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
    /** Delete an attribute of a user */
    delete: {
      parameters: {
        path: { user: string; key: string };
      };
      responses: {
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/otpkeys/{prefix}/attributes": {
    /** List the attributes of an OTP key */
    get: {
      parameters: {
        path: { prefix: string };
      };
      responses: {
        200: { content: { "application/json": Attributes } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
    /** Set an attribute of an OTP key */
    post: {
      parameters: {
        path: { prefix: string };
      };
      requestBody?: { content: { "application/json": {
        /** The attribute's key. */
        key: string;
        /** The attribute's value. It replaces an existing value. */
        value: string;
      } } };
      responses: {
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/otpkeys/{prefix}/attributes/{key}": {
    /** Read an attribute of an OTP key */
    get: {
      parameters: {
        path: { prefix: string; key: string };
      };
      responses: {
        200: { content: { "application/json": string | null } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
    /** Delete an attribute of an OTP key */
    delete: {
      parameters: {
        path: { prefix: string; key: string };
      };
      responses: {
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/users/{user}/otpkeys/{prefix}/attributes": {
    /** List the attributes of an OTP key of a user */
    get: {
      parameters: {
        path: { user: string; prefix: string };
      };
      responses: {
        200: { content: { "application/json": Attributes } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
    /** Set an attribute of an OTP key of a user */
    post: {
      parameters: {
        path: { user: string; prefix: string };
      };
      requestBody?: { content: { "application/json": {
        /** The attribute's key. */
        key: string;
        /** The attribute's value. It replaces an existing value. */
        value: string;
      } } };
      responses: {
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/users/{user}/otpkeys/{prefix}/attributes/{key}": {
    /** Read an attribute of an OTP key of a user */
    get: {
      parameters: {
        path: { user: string; prefix: string; key: string };
      };
      responses: {
        200: { content: { "application/json": string | null } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
    /** Delete an attribute of an OTP key of a user */
    delete: {
      parameters: {
        path: { user: string; prefix: string; key: string };
      };
      responses: {
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/api-tokens": {
    /** Create a static API token, which is shown only once */
    post: {
      parameters: {};
      requestBody?: { content: { "application/json": {
        /** Name of the application that will use the token. */
        name: string;
        /** The token is accepted before this time, ISO 8601; default: until it is revoked. */
        expires_at?: string;
        /** What the token may do: `read`, `support` (also unlock, disable users and OTP keys, issue temporary codes, end sessions), `import` (also import OTP keys), `admin` (everything, the default). */
        role?: "read" | "support" | "import" | "admin";
      } } };
      responses: {
        201: { content: { "application/json": NewApiToken } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
    /** List static API tokens */
    get: {
      parameters: {};
      responses: {
        200: { content: { "application/json": Array<ApiToken> } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/caller": {
    /** View the caller and its roles */
    get: {
      parameters: {};
      responses: {
        200: { content: { "application/json": Caller } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/core/api-tokens/{id}": {
    /** Revoke a static API token */
    delete: {
      parameters: {
        path: { id: string };
      };
      responses: {
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
}

export type ErrorResponse = {
  /** What is wrong, for people. */
  error: string;
  /** Of a sign-in whose credentials are right: the user must change the password first. */
  reason?: "password_change_required";
  /** Only with `reason`: sets the new password, once, within ten minutes. */
  token?: string;
};

export type UserSummary = {
  /** Unique number, which never changes. */
  id: number;
  /** Unique username. */
  name: string;
};

export type User = {
  attributes: Attributes;
  /** Prefixes of the assigned OTP keys. */
  otpkeys: Array<string>;
  /** Unique number, which never changes. */
  id: number;
  /** Unique username. */
  name: string;
  /** False if the user is disabled: every sign-in is refused. */
  enabled: boolean;
  /** Present until the first sign-in with a password whose hash was imported. */
  password?: {
    /** How the other server hashed it. */
    imported: "argon2id" | "bcrypt" | "pbkdf2-sha256" | "pbkdf2-sha512" | "sha256-crypt" | "sha512-crypt";
  };
  /** Time of the last sign-in that was granted. Absent if there was none. */
  last_login?: string;
  last_refusal?: LastRefusal;
  /** Time until which every sign-in with the username is refused. Absent if none is. */
  locked_until?: string;
  /** Present if the user must change the password before the next session. */
  must_change?: true;
  /** Time until which the one-time code of a reset is accepted. Absent if there is none. */
  code_valid_until?: string;
};

/** Values of attributes by their keys. */
export type Attributes = Record<string, string>;

/** The last sign-in that was checked and refused. Absent if there was none for a day, or since `unlock`. */
export type LastRefusal = {
  at: string;
  /** `wrong_password`, `wrong_code` (of a reset), `wrong_otp`, `out_of_step` (the next OTP is accepted), `no_otp`, `must_change` (all was right), `no_password`, `disabled`, `imported_password_ended` (see `IMPORTED_HASHES_UNTIL`), or `unknown_user`. Without the role `support`, the first six are `wrong_credentials`. */
  reason: string;
};

export type UserImport = {
  /** A username. */
  username: string;
  /** The password. An empty one means no password. */
  password?: string;
  /** In place of `password`: its hash as another server made it, in the format of passlib, crypt(3), bcrypt, Django or PHC. The first sign-in replaces it. */
  password_hash?: string;
  /** Values of attributes by their keys. */
  attributes?: Record<string, string>;
  /** Prefixes of existing OTP keys that are assigned to the user. */
  otpkeys?: Array<string>;
  /** False: the user is disabled; default: true. */
  enabled?: boolean;
};

export type UserImportResults = {
  results: Array<UserImportResult>;
};

export type UserImportResult = {
  /** Position of the user in `users`, from 0. */
  index: number;
  /** The name of the user. Absent if the element cannot be read. */
  username?: string;
  /** The id of the user, with status 200 and 201. */
  id?: number;
  /** 201: created; 200: the same user was there; 400: invalid; 409: another user has the name. */
  status: 200 | 201 | 400 | 409 | 500;
  /** Why the element was not imported, for people. */
  error?: string;
  /** Every invalid field, with status 400; every different one of an existing user, with status 409. */
  problems?: Array<{
    /** Empty for the whole element. */
    field: string;
    reason: string;
  }>;
};

export type PasswordCode = {
  /** What the user types in place of the old password. It is shown only once. */
  code: string;
  /** The code is accepted before this time. */
  valid_until: string;
};

export type ValidationResult = {
  valid_password: boolean;
  valid_otp: boolean;
};

export type Lock = {
  /** Number of failed sign-ins since the last successful one. */
  failures: number;
  /** Time until which every sign-in is refused, or null. */
  locked_until: string | null;
  /** Number of sign-ins that have not ended. */
  running_attempts: number;
  last_refusal?: LastRefusal;
};

export type OtpKey = {
  attributes: Attributes;
  /** Unique prefix of the OTP key, with which each of its OTPs begins. */
  prefix: string;
  /** Whether OTPs of the OTP key are accepted. */
  enabled: boolean;
  /** Unique number, which never changes. */
  id: number;
  /** Users who have the otpkey, at most ten; `GET /users?otpkey=` lists all. Absent if there is none. */
  users?: Array<UserSummary>;
  /** Present if wrong OTPs stopped the otpkey. Enabling it again starts it. */
  stopped?: true;
  /** Time at which the otpkey was stopped. Absent if it is not stopped. */
  stopped_since?: string;
  /** Number of wrong OTPs since the last valid one. Absent if 0, and without the role `support`. */
  failures?: number;
  /** Time of the last valid OTP. Absent if there was none. */
  last_used?: string;
  /** OTPs are accepted from this time on. Absent if there is no such limit. */
  valid_from?: string;
  /** OTPs are accepted before this time. Absent if there is no such limit. */
  valid_until?: string;
  /** Present if a temporary code was issued for the otpkey, also after its expiry. Enabling the otpkey removes it. */
  temporary_code?: {
    uses_left: number;
    valid_until: string;
  };
};

export type TemporaryCode = {
  /** What the user types in place of an OTP. It is shown only once. */
  code: string;
  /** How often the code is accepted. */
  uses: number;
  /** The code is accepted before this time. */
  valid_until: string;
};

export type OtpKeyImport = {
  /** The prefix of the otpkey. */
  prefix: string;
  /** Kind of the otpkey. Absent: an otpkey without a secret. */
  kind?: "hotp" | "totp" | "yubico" | "remote";
  /** Secret in hex. */
  secret?: string;
  /** Secret of an OATH kind in Base32, instead of `secret`. */
  secret_base32?: string;
  /** Private id of kind `yubico` in hex. */
  private_id?: string;
  /** Length of the codes of an OATH kind: 6 (default), 7 or 8. */
  digits?: 6 | 7 | 8;
  /** Length of a time step of kind `totp`: 30 (default) or 60 seconds. */
  period?: 30 | 60;
  /** Hash function of kind `totp`; default: `SHA1`. */
  algorithm?: "SHA1" | "SHA256" | "SHA512";
  /** Smallest counter that is accepted; default: 0. */
  counter?: number;
  /** Number of time steps by which the clock of a `totp` otpkey is ahead, negative if it is behind; default: 0. */
  drift?: number;
  /** OTPs are accepted from this time on, ISO 8601. */
  valid_from?: string;
  /** OTPs are accepted before this time, ISO 8601. */
  valid_until?: string;
  /** Name of an existing user to whom the otpkey is assigned. */
  username?: string;
  /** Whether to replace another secret, or to set counter and drift of the same one; default: false. */
  replace?: boolean;
};

export type OtpKeyImportResults = {
  results: Array<OtpKeyImportResult>;
};

export type OtpKeyImportResult = {
  /** Position of the OTP key in `otpkeys`, from 0. */
  index: number;
  /** The prefix of the OTP key. Absent if the element cannot be read. */
  prefix?: string;
  /** The status with which `POST /otpkeys` would have answered. */
  status: 200 | 201 | 400 | 403 | 409 | 500;
  /** Why the element was not imported, for people. */
  error?: string;
  /** Every invalid field, with status 400; every different one of an existing user, with status 409. */
  problems?: Array<{
    /** Empty for the whole element. */
    field: string;
    reason: string;
  }>;
};

export type OtpKeySummary = {
  /** Unique number, which never changes. */
  id: number;
  /** Unique prefix of the OTP key, with which each of its OTPs begins. */
  prefix: string;
  /** Whether OTPs of the OTP key are accepted. */
  enabled: boolean;
};

export type NewApiToken = {
  /** Names the token, for example to revoke it. */
  id: string;
  /** Name of the application that uses the token. */
  name: string;
  /** When the token was created, ISO 8601. */
  created_at: string;
  /** The token is accepted before this time. Absent: until it is revoked. */
  expires_at?: string;
  /** What the token may do. Absent: everything. */
  role?: "read" | "support" | "import" | "admin" | "call";
  /** The last day, in UTC, on which the token was accepted. Absent: it was never used. */
  last_used_on?: string;
  /** The token. It is shown only once. */
  token: string;
};

export type ApiToken = {
  /** Names the token, for example to revoke it. */
  id: string;
  /** Name of the application that uses the token. */
  name: string;
  /** When the token was created, ISO 8601. */
  created_at: string;
  /** The token is accepted before this time. Absent: until it is revoked. */
  expires_at?: string;
  /** What the token may do. Absent: everything. */
  role?: "read" | "support" | "import" | "admin" | "call";
  /** The last day, in UTC, on which the token was accepted. Absent: it was never used. */
  last_used_on?: string;
};

export type Caller = {
  /** Whether the token is of the tenant, or a static API token. */
  kind: "tenant" | "api_token";
  /** Id of the application, or of the static API token. */
  application: string;
  /** Whom the token of the tenant was issued for. */
  subject?: string;
  /** What the token may do, with the roles that a role includes. */
  roles: Array<"read" | "support" | "import" | "admin" | "call">;
};

