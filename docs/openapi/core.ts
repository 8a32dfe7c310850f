// Written by npm run openapi from core.json: types of its calls for the commands.

/** A body in JSON. */
interface Json<T> {
  content: { "application/json": T };
}

/** No body. */
type Empty = { content?: never };

/** A call: its parameters, body and successful responses by status. Every other response has the body of an error. */
type Call<T> = {
  parameters: Pick<T, keyof T & ("path" | "query" | "header")>;
  responses: Pick<T, keyof T & number> & { default: Json<ErrorResponse> };
} & Pick<T, keyof T & "requestBody">;

export interface paths {
  "/core/users": {
    post: Call<{
      requestBody?: Json<{ username: string; password: string; must_change?: boolean }>;
      201: Json<UserSummary>;
    }>;
    get: Call<{
      query?: {
        otpkey?: string;
        $top?: number;
        $skiptoken?: string;
        $prefix?: string;
        $enabled?: boolean;
        $password?: "imported";
        $unused_since?: string;
      };
      200: Json<Array<UserSummary>>;
    }>;
  };
  "/core/users/{user}": {
    get: Call<{ path: { user: string }; 200: Json<User> }>;
    delete: Call<{ path: { user: string }; 204: Empty }>;
  };
  "/core/users/batch": {
    post: Call<{ requestBody: Json<{ users: Array<UserImport> }>; 200: Json<UserImportResults> }>;
  };
  "/core/users/{user}/rename": {
    post: Call<{ path: { user: string }; requestBody?: Json<{ username: string }>; 200: Json<UserSummary> }>;
  };
  "/core/users/{user}/reset": {
    post: Call<{
      path: { user: string };
      requestBody?: Json<{ password?: string; must_change?: boolean; issue_code?: boolean }>;
      201: Json<PasswordCode>;
      204: Empty;
    }>;
  };
  "/core/users/{user}/validate": {
    post: Call<{
      path: { user: string };
      requestBody?: Json<{ password?: string; otp?: string }>;
      200: Json<ValidationResult>;
    }>;
  };
  "/core/users/{user}/sessions/delete": { post: Call<{ path: { user: string }; 204: Empty }> };
  "/core/users/{user}/disable": { post: Call<{ path: { user: string }; 204: Empty }> };
  "/core/users/{user}/enable": { post: Call<{ path: { user: string }; 204: Empty }> };
  "/core/users/{user}/lock": { get: Call<{ path: { user: string }; 200: Json<Lock> }> };
  "/core/users/{user}/unlock": { post: Call<{ path: { user: string }; 204: Empty }> };
  "/core/users/{user}/otpkeys": {
    post: Call<{ path: { user: string }; requestBody?: Json<{ otpkey: string }>; 204: Empty }>;
    get: Call<{ path: { user: string }; 200: Json<Array<string>> }>;
  };
  "/core/otpkeys/{prefix}": {
    get: Call<{ path: { prefix: string }; 200: Json<OtpKey> }>;
    delete: Call<{ path: { prefix: string }; 204: Empty }>;
  };
  "/core/users/{user}/otpkeys/{prefix}": {
    get: Call<{ path: { user: string; prefix: string }; 200: Json<OtpKey> }>;
    delete: Call<{ path: { user: string; prefix: string }; 204: Empty }>;
  };
  "/core/otpkeys/{prefix}/enable": { post: Call<{ path: { prefix: string }; 204: Empty }> };
  "/core/otpkeys/{prefix}/disable": {
    post: Call<{ path: { prefix: string }; requestBody?: Json<{ end_sessions?: boolean }>; 204: Empty }>;
  };
  "/core/otpkeys/{prefix}/validity": {
    post: Call<{
      path: { prefix: string };
      requestBody?: Json<{ valid_from?: string; valid_until?: string }>;
      204: Empty;
    }>;
  };
  "/core/otpkeys/{prefix}/temporary-code": {
    post: Call<{
      path: { prefix: string };
      requestBody?: Json<{ uses?: number; valid_until: string; end_sessions?: boolean }>;
      201: Json<TemporaryCode>;
    }>;
    delete: Call<{ path: { prefix: string }; 204: Empty }>;
  };
  "/core/otpkeys": {
    post: Call<{ requestBody?: Json<OtpKeyImport>; 200: Json<OtpKey>; 201: Json<OtpKey> }>;
    get: Call<{
      query?: {
        $top?: number;
        $skiptoken?: string;
        enabled?: boolean;
        stopped?: boolean;
        assigned?: boolean;
        $prefix?: string;
        unused_since?: string;
      };
      200: Json<Array<OtpKeySummary>>;
    }>;
  };
  "/core/otpkeys/batch": {
    post: Call<{ requestBody: Json<{ otpkeys: Array<OtpKeyImport> }>; 200: Json<OtpKeyImportResults> }>;
  };
  "/core/users/{user}/attributes": {
    get: Call<{ path: { user: string }; 200: Json<Attributes> }>;
    post: Call<{ path: { user: string }; requestBody?: Json<{ key: string; value: string }>; 204: Empty }>;
  };
  "/core/users/{user}/attributes/{key}": {
    get: Call<{ path: { user: string; key: string }; 200: Json<string | null> }>;
    delete: Call<{ path: { user: string; key: string }; 204: Empty }>;
  };
  "/core/otpkeys/{prefix}/attributes": {
    get: Call<{ path: { prefix: string }; 200: Json<Attributes> }>;
    post: Call<{ path: { prefix: string }; requestBody?: Json<{ key: string; value: string }>; 204: Empty }>;
  };
  "/core/otpkeys/{prefix}/attributes/{key}": {
    get: Call<{ path: { prefix: string; key: string }; 200: Json<string | null> }>;
    delete: Call<{ path: { prefix: string; key: string }; 204: Empty }>;
  };
  "/core/users/{user}/otpkeys/{prefix}/attributes": {
    get: Call<{ path: { user: string; prefix: string }; 200: Json<Attributes> }>;
    post: Call<{
      path: { user: string; prefix: string };
      requestBody?: Json<{ key: string; value: string }>;
      204: Empty;
    }>;
  };
  "/core/users/{user}/otpkeys/{prefix}/attributes/{key}": {
    get: Call<{ path: { user: string; prefix: string; key: string }; 200: Json<string | null> }>;
    delete: Call<{ path: { user: string; prefix: string; key: string }; 204: Empty }>;
  };
  "/core/api-tokens": {
    post: Call<{
      requestBody?: Json<{ name: string; expires_at?: string; role?: "read" | "support" | "import" | "admin" }>;
      201: Json<NewApiToken>;
    }>;
    get: Call<{ 200: Json<Array<ApiToken>> }>;
  };
  "/core/caller": { get: Call<{ 200: Json<Caller> }> };
  "/core/api-tokens/{id}": { delete: Call<{ path: { id: string }; 204: Empty }> };
}

export type ErrorResponse = { error: string; reason?: "password_change_required"; token?: string };

export type UserSummary = { id: number; name: string };

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

export type LastRefusal = { at: string; reason: string; otp_outcome?: string; otpkey?: string };

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
  problems?: Array<{ field: string; reason: string }>;
};

export type PasswordCode = { code: string; valid_until: string };

export type ValidationResult = { valid_password: boolean; valid_otp: boolean };

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
  temporary_code?: { uses_left: number; valid_until: string };
};

export type TemporaryCode = { code: string; uses: number; valid_until: string };

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
  problems?: Array<{ field: string; reason: string }>;
};

export type OtpKeySummary = { id: number; prefix: string; enabled: boolean };

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

