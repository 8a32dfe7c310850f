// Written by npm run openapi from core.json: types of its calls for the commands.

/** A body in JSON. */
interface Json<T> {
  content: { "application/json": T };
}

export interface paths {
  "/core/users": {
    post: {
      parameters: {};
      requestBody?: Json<{
        username: string;
        password: string;
        must_change?: boolean;
      }>;
      responses: { 201: Json<UserSummary>; default: Json<ErrorResponse> };
    };
    get: {
      parameters: {
        query?: {
          otpkey?: string;
          $top?: number;
          $skiptoken?: string;
          $prefix?: string;
          $enabled?: boolean;
          $password?: "imported";
          $unused_since?: string;
        };
      };
      responses: { 200: Json<Array<UserSummary>>; default: Json<ErrorResponse> };
    };
  };
  "/core/users/{user}": {
    get: {
      parameters: { path: { user: string } };
      responses: { 200: Json<User>; default: Json<ErrorResponse> };
    };
    delete: {
      parameters: { path: { user: string } };
      responses: { 204: { content?: never }; default: Json<ErrorResponse> };
    };
  };
  "/core/users/batch": {
    post: {
      parameters: {};
      requestBody: Json<{ users: Array<UserImport> }>;
      responses: { 200: Json<UserImportResults>; default: Json<ErrorResponse> };
    };
  };
  "/core/users/{user}/rename": {
    post: {
      parameters: { path: { user: string } };
      requestBody?: Json<{ username: string }>;
      responses: { 200: Json<UserSummary>; default: Json<ErrorResponse> };
    };
  };
  "/core/users/{user}/reset": {
    post: {
      parameters: { path: { user: string } };
      requestBody?: Json<{
        password?: string;
        must_change?: boolean;
        issue_code?: boolean;
      }>;
      responses: { 201: Json<PasswordCode>; 204: { content?: never }; default: Json<ErrorResponse> };
    };
  };
  "/core/users/{user}/validate": {
    post: {
      parameters: { path: { user: string } };
      requestBody?: Json<{
        password?: string;
        otp?: string;
      }>;
      responses: { 200: Json<ValidationResult>; default: Json<ErrorResponse> };
    };
  };
  "/core/users/{user}/sessions/delete": {
    post: {
      parameters: { path: { user: string } };
      responses: { 204: { content?: never }; default: Json<ErrorResponse> };
    };
  };
  "/core/users/{user}/disable": {
    post: {
      parameters: { path: { user: string } };
      responses: { 204: { content?: never }; default: Json<ErrorResponse> };
    };
  };
  "/core/users/{user}/enable": {
    post: {
      parameters: { path: { user: string } };
      responses: { 204: { content?: never }; default: Json<ErrorResponse> };
    };
  };
  "/core/users/{user}/lock": {
    get: {
      parameters: { path: { user: string } };
      responses: { 200: Json<Lock>; default: Json<ErrorResponse> };
    };
  };
  "/core/users/{user}/unlock": {
    post: {
      parameters: { path: { user: string } };
      responses: { 204: { content?: never }; default: Json<ErrorResponse> };
    };
  };
  "/core/users/{user}/otpkeys": {
    post: {
      parameters: { path: { user: string } };
      requestBody?: Json<{ otpkey: string }>;
      responses: { 204: { content?: never }; default: Json<ErrorResponse> };
    };
    get: {
      parameters: { path: { user: string } };
      responses: { 200: Json<Array<string>>; default: Json<ErrorResponse> };
    };
  };
  "/core/otpkeys/{prefix}": {
    get: {
      parameters: { path: { prefix: string } };
      responses: { 200: Json<OtpKey>; default: Json<ErrorResponse> };
    };
    delete: {
      parameters: { path: { prefix: string } };
      responses: { 204: { content?: never }; default: Json<ErrorResponse> };
    };
  };
  "/core/users/{user}/otpkeys/{prefix}": {
    get: {
      parameters: { path: { user: string; prefix: string } };
      responses: { 200: Json<OtpKey>; default: Json<ErrorResponse> };
    };
    delete: {
      parameters: { path: { user: string; prefix: string } };
      responses: { 204: { content?: never }; default: Json<ErrorResponse> };
    };
  };
  "/core/otpkeys/{prefix}/enable": {
    post: {
      parameters: { path: { prefix: string } };
      responses: { 204: { content?: never }; default: Json<ErrorResponse> };
    };
  };
  "/core/otpkeys/{prefix}/disable": {
    post: {
      parameters: { path: { prefix: string } };
      requestBody?: Json<{ end_sessions?: boolean }>;
      responses: { 204: { content?: never }; default: Json<ErrorResponse> };
    };
  };
  "/core/otpkeys/{prefix}/validity": {
    post: {
      parameters: { path: { prefix: string } };
      requestBody?: Json<{
        valid_from?: string;
        valid_until?: string;
      }>;
      responses: { 204: { content?: never }; default: Json<ErrorResponse> };
    };
  };
  "/core/otpkeys/{prefix}/temporary-code": {
    post: {
      parameters: { path: { prefix: string } };
      requestBody?: Json<{
        uses?: number;
        valid_until: string;
        end_sessions?: boolean;
      }>;
      responses: { 201: Json<TemporaryCode>; default: Json<ErrorResponse> };
    };
    delete: {
      parameters: { path: { prefix: string } };
      responses: { 204: { content?: never }; default: Json<ErrorResponse> };
    };
  };
  "/core/otpkeys": {
    post: {
      parameters: {};
      requestBody?: Json<OtpKeyImport>;
      responses: { 200: Json<OtpKey>; 201: Json<OtpKey>; default: Json<ErrorResponse> };
    };
    get: {
      parameters: {
        query?: {
          $top?: number;
          $skiptoken?: string;
          enabled?: boolean;
          stopped?: boolean;
          assigned?: boolean;
          $prefix?: string;
          unused_since?: string;
        };
      };
      responses: { 200: Json<Array<OtpKeySummary>>; default: Json<ErrorResponse> };
    };
  };
  "/core/otpkeys/batch": {
    post: {
      parameters: {};
      requestBody: Json<{ otpkeys: Array<OtpKeyImport> }>;
      responses: { 200: Json<OtpKeyImportResults>; default: Json<ErrorResponse> };
    };
  };
  "/core/users/{user}/attributes": {
    get: {
      parameters: { path: { user: string } };
      responses: { 200: Json<Attributes>; default: Json<ErrorResponse> };
    };
    post: {
      parameters: { path: { user: string } };
      requestBody?: Json<{
        key: string;
        value: string;
      }>;
      responses: { 204: { content?: never }; default: Json<ErrorResponse> };
    };
  };
  "/core/users/{user}/attributes/{key}": {
    get: {
      parameters: { path: { user: string; key: string } };
      responses: { 200: Json<string | null>; default: Json<ErrorResponse> };
    };
    delete: {
      parameters: { path: { user: string; key: string } };
      responses: { 204: { content?: never }; default: Json<ErrorResponse> };
    };
  };
  "/core/otpkeys/{prefix}/attributes": {
    get: {
      parameters: { path: { prefix: string } };
      responses: { 200: Json<Attributes>; default: Json<ErrorResponse> };
    };
    post: {
      parameters: { path: { prefix: string } };
      requestBody?: Json<{
        key: string;
        value: string;
      }>;
      responses: { 204: { content?: never }; default: Json<ErrorResponse> };
    };
  };
  "/core/otpkeys/{prefix}/attributes/{key}": {
    get: {
      parameters: { path: { prefix: string; key: string } };
      responses: { 200: Json<string | null>; default: Json<ErrorResponse> };
    };
    delete: {
      parameters: { path: { prefix: string; key: string } };
      responses: { 204: { content?: never }; default: Json<ErrorResponse> };
    };
  };
  "/core/users/{user}/otpkeys/{prefix}/attributes": {
    get: {
      parameters: { path: { user: string; prefix: string } };
      responses: { 200: Json<Attributes>; default: Json<ErrorResponse> };
    };
    post: {
      parameters: { path: { user: string; prefix: string } };
      requestBody?: Json<{
        key: string;
        value: string;
      }>;
      responses: { 204: { content?: never }; default: Json<ErrorResponse> };
    };
  };
  "/core/users/{user}/otpkeys/{prefix}/attributes/{key}": {
    get: {
      parameters: { path: { user: string; prefix: string; key: string } };
      responses: { 200: Json<string | null>; default: Json<ErrorResponse> };
    };
    delete: {
      parameters: { path: { user: string; prefix: string; key: string } };
      responses: { 204: { content?: never }; default: Json<ErrorResponse> };
    };
  };
  "/core/api-tokens": {
    post: {
      parameters: {};
      requestBody?: Json<{
        name: string;
        expires_at?: string;
        role?: "read" | "support" | "import" | "admin";
      }>;
      responses: { 201: Json<NewApiToken>; default: Json<ErrorResponse> };
    };
    get: {
      parameters: {};
      responses: { 200: Json<Array<ApiToken>>; default: Json<ErrorResponse> };
    };
  };
  "/core/caller": {
    get: {
      parameters: {};
      responses: { 200: Json<Caller>; default: Json<ErrorResponse> };
    };
  };
  "/core/api-tokens/{id}": {
    delete: {
      parameters: { path: { id: string } };
      responses: { 204: { content?: never }; default: Json<ErrorResponse> };
    };
  };
}

export type ErrorResponse = {
  error: string;
  reason?: "password_change_required";
  token?: string;
};

export type UserSummary = {
  id: number;
  name: string;
};

export type User = {
  attributes: Attributes;
  otpkeys: Array<string>;
  id: number;
  name: string;
  enabled: boolean;
  password?: { imported: "argon2id" | "bcrypt" | "pbkdf2-sha256" | "pbkdf2-sha512" | "sha256-crypt" | "sha512-crypt" };
  last_login?: string;
  last_refusal?: LastRefusal;
  locked_until?: string;
  must_change?: true;
  code_valid_until?: string;
};

export type Attributes = Record<string, string>;

export type LastRefusal = {
  at: string;
  reason: string;
  otp_outcome?: string;
  otpkey?: string;
};

export type UserImport = {
  username: string;
  password?: string;
  password_hash?: string;
  attributes?: Record<string, string>;
  otpkeys?: Array<string>;
  enabled?: boolean;
};

export type UserImportResults = { results: Array<UserImportResult> };

export type UserImportResult = {
  index: number;
  username?: string;
  id?: number;
  status: 200 | 201 | 400 | 409 | 500;
  error?: string;
  problems?: Array<{
    field: string;
    reason: string;
  }>;
};

export type PasswordCode = {
  code: string;
  valid_until: string;
};

export type ValidationResult = {
  valid_password: boolean;
  valid_otp: boolean;
};

export type Lock = {
  failures: number;
  locked_until: string | null;
  running_attempts: number;
  last_refusal?: LastRefusal;
};

export type OtpKey = {
  attributes: Attributes;
  prefix: string;
  enabled: boolean;
  id: number;
  users?: Array<UserSummary>;
  stopped?: true;
  stopped_since?: string;
  failures?: number;
  last_used?: string;
  valid_from?: string;
  valid_until?: string;
  temporary_code?: {
    uses_left: number;
    valid_until: string;
  };
};

export type TemporaryCode = {
  code: string;
  uses: number;
  valid_until: string;
};

export type OtpKeyImport = {
  prefix: string;
  kind?: "hotp" | "totp" | "yubico" | "remote";
  secret?: string;
  secret_base32?: string;
  private_id?: string;
  digits?: 6 | 7 | 8;
  period?: 30 | 60;
  algorithm?: "SHA1" | "SHA256" | "SHA512";
  counter?: number;
  drift?: number;
  valid_from?: string;
  valid_until?: string;
  username?: string;
  replace?: boolean;
};

export type OtpKeyImportResults = { results: Array<OtpKeyImportResult> };

export type OtpKeyImportResult = {
  index: number;
  prefix?: string;
  status: 200 | 201 | 400 | 403 | 409 | 500;
  error?: string;
  problems?: Array<{
    field: string;
    reason: string;
  }>;
};

export type OtpKeySummary = {
  id: number;
  prefix: string;
  enabled: boolean;
};

export type NewApiToken = {
  id: string;
  name: string;
  created_at: string;
  expires_at?: string;
  role?: "read" | "support" | "import" | "admin" | "call";
  last_used_on?: string;
  token: string;
};

export type ApiToken = {
  id: string;
  name: string;
  created_at: string;
  expires_at?: string;
  role?: "read" | "support" | "import" | "admin" | "call";
  last_used_on?: string;
};

export type Caller = {
  kind: "tenant" | "api_token";
  application: string;
  subject?: string;
  roles: Array<"read" | "support" | "import" | "admin" | "call">;
};

