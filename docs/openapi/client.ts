// Written by npm run openapi from client.json: types for openapi-fetch.

export interface paths {
  "/client/authenticate": {
    /** Check whether credentials are valid and sufficient */
    post: {
      parameters: {
        header?: {
          /** A device token of an earlier login: failures of other callers then do not lock this caller out. */
          "X-Service-Device"?: string;
        };
      };
      requestBody?: { content: { "application/json": SignInCredentials } };
      responses: {
        200: { content: { "application/json": boolean } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/client/login": {
    /** Sign in and create a session */
    post: {
      parameters: {
        header?: {
          /** A device token of an earlier login: failures of other callers then do not lock this caller out. */
          "X-Service-Device"?: string;
        };
      };
      requestBody?: { content: { "application/json": LoginFields } };
      responses: {
        200: { content: { "application/json": Session } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/client/logout": {
    /** End the session */
    post: {
      parameters: {};
      responses: {
        200: { content: { "application/json": true } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/client/status": {
    /** Inspect the session */
    get: {
      parameters: {};
      responses: {
        200: { content: { "application/json": SessionStatus } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/client/password": {
    /** Change the password */
    post: {
      parameters: {
        header?: {
          /** A device token of an earlier login: failures of other callers then do not lock this caller out. */
          "X-Service-Device"?: string;
        };
      };
      requestBody?: { content: { "application/json": {
        /** The new password. */
        newpass: string;
        /** The current password. */
        oldpass?: string;
        /** An unused OTP, if a login of the user needs one. */
        otp?: string;
        /** The one-time code of a reset, in place of session and current password. */
        code?: string;
        /** The username; required with `code`. */
        username?: string;
        /** The token of `password_change_required`, in place of session, current password and OTP. */
        token?: string;
      } } };
      responses: {
        200: { content: { "application/json": true } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/client/otpkeys": {
    /** Assign an otpkey to the session's user */
    post: {
      parameters: {};
      requestBody?: { content: { "application/json": {
        /** The user's password. */
        password: string;
        /** An unused OTP of the otpkey. */
        otp: string;
      } } };
      responses: {
        200: { content: { "application/json": AssignedOtpKey } };
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

export type SignInCredentials = {
  /** The username. Optional if the deployment identifies users by OTP. */
  username?: string;
  /** The password. */
  password?: string;
  /** An OTP of one of the user's otpkeys. It is used up. */
  otp?: string;
};

export type LoginFields = {
  /** The username. Optional if the deployment identifies users by OTP. */
  username?: string;
  /** The password. */
  password?: string;
  /** An OTP of one of the user's otpkeys. It is used up. */
  otp?: string;
  /** Whether to return a device token. Default: false. */
  remember_device?: boolean;
};

export type Session = {
  /** The session, for `X-Service-Session`. */
  session: string;
  /** The device token, if `remember_device` is true. */
  device?: string;
};

export type SessionStatus = {
  /** The username as it was created. */
  username: string;
  /** The numeric id of the user. */
  user_id: number;
  /** Prefix of the otpkey whose OTP was used at the login, or null. */
  prefix: string | null;
  /** Time of this request in Unix seconds. */
  _accessed_time: number;
  /** Time of the login in Unix seconds. */
  _creation_time: number;
};

export type AssignedOtpKey = {
  /** Prefix of the otpkey. */
  prefix: string;
};

