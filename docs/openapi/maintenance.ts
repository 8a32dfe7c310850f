// Written by npm run openapi from maintenance.json: types for openapi-fetch.

export interface paths {
  "/health": {
    /** Check the health */
    get: {
      parameters: {};
      responses: {
        200: { content: { "application/json": {
        /** Every part works. */
        status: "ok";
      } } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/maintenance/auth/reseal": {
    /** Seal all secrets again under the current key */
    post: {
      parameters: {};
      requestBody?: { content: { "application/json": Record<string, unknown> } };
      responses: {
        200: { content: { "application/json": {
        data: ResealReport;
      } } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/maintenance/auth/back-up": {
    /** Create a backup */
    post: {
      parameters: {};
      requestBody?: { content: { "application/json": Record<string, unknown> } };
      responses: {
        200: { content: { "application/json": {
        data: BackUpReport;
      } } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/maintenance/auth/restore": {
    /** Restore users and OTP keys from a backup */
    post: {
      parameters: {};
      requestBody?: { content: { "application/json": {
        /** The id of a backup, as the backup reports it. */
        backup: string;
        /** Whether to replace existing rows and blobs. */
        replace?: boolean;
        /** Whether to skip users, OTP keys and requests with an unreadable row. */
        skip_unreadable?: boolean;
        /** How many uses of an OTP key since the backup to allow for. */
        otp_uses?: number;
      } } };
      responses: {
        200: { content: { "application/json": {
        data: AuthRestoreReport;
      } } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/maintenance/connector/check-peers": {
    /** Check every external system */
    post: {
      parameters: {};
      requestBody?: { content: { "application/json": {
        /** Test users. */
        users?: Array<{
          /** The IdP. By default that of the deployment. */
          idp_id?: string;
          /** A user at the IdP. */
          user_id: string;
        }>;
      } } };
      responses: {
        200: { content: { "application/json": {
        data: PeerReport;
      } } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/maintenance/connector/erase": {
    /** Erase a person */
    post: {
      parameters: {};
      requestBody?: { content: { "application/json": {
        /** The recipient's email address. */
        email?: string;
        /** The recipient's own identifier. */
        external_id?: string;
        /** A user of a credential. */
        user_id?: string;
        /** If true, reports what would be deleted, and changes nothing. */
        dry_run?: boolean;
      } } };
      responses: {
        200: { content: { "application/json": {
        data: EraseReport;
      } } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/maintenance/connector/resume-events": {
    /** Resume an event sink */
    post: {
      parameters: {};
      requestBody?: { content: { "application/json": {
        /** Position of the sink in `EVENT_SINK_URLS`, from 1. */
        sink: number;
      } } };
      responses: {
        200: { content: { "application/json": {
        data: ResumedSinkReport;
      } } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/maintenance/connector/reseal": {
    /** Seal all secrets again under the current key */
    post: {
      parameters: {};
      requestBody?: { content: { "application/json": Record<string, unknown> } };
      responses: {
        200: { content: { "application/json": {
        data: ResealReport;
      } } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/maintenance/connector/back-up": {
    /** Create a backup */
    post: {
      parameters: {};
      requestBody?: { content: { "application/json": Record<string, unknown> } };
      responses: {
        200: { content: { "application/json": {
        data: BackUpReport;
      } } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/maintenance/connector/restore": {
    /** Restore requests from a backup */
    post: {
      parameters: {};
      requestBody?: { content: { "application/json": {
        /** The id of a backup, as the backup reports it. */
        backup: string;
        /** Whether to replace existing rows and blobs. */
        replace?: boolean;
        /** Whether to skip users, OTP keys and requests with an unreadable row. */
        skip_unreadable?: boolean;
      } } };
      responses: {
        200: { content: { "application/json": {
        data: ConnectorRestoreReport;
      } } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
}

export type ErrorResponse = {
  /** What is wrong, for people. */
  error: string;
  /** Only with 400: every field that is wrong. */
  fields?: Array<Problem>;
};

export type Problem = {
  /** The field. */
  path: string;
  /** What is wrong with it. */
  reason: string;
};

export type ResealReport = {
  /** Version of the key that the values are sealed under now. */
  version: string;
  /** Rows that were read. */
  rows: number;
  /** Of those, rows that were sealed again. */
  resealed: number;
  /** Of those, rows that could not be decrypted. The log names them. */
  failed: number;
};

export type BackUpReport = {
  /** Id of the backup, for a restore. */
  backup: string;
  /** Rows by table. */
  rows: Record<string, number>;
  /** Blobs by container. */
  blobs: Record<string, number>;
  /** Old backups that were removed. */
  removed: number;
  /** Files that were copied to the second storage account, also of older backups that it lacked. Absent without `BACKUP_STORAGE_ENDPOINT`. */
  copied?: number;
};

export type AuthRestoreReport = {
  /** Users that were restored. */
  users: number;
  /** OTP keys that were restored. */
  otpkeys: number;
  /** Users whose name another user took during the backup, with the names that they have now. */
  renamed: Array<{
    id: number;
    name: string;
  }>;
  /** Users and OTP keys that were skipped. */
  skipped: number;
};

export type PeerReport = {
  /** One entry for each check. */
  findings: Array<{
    /** The external system. */
    peer: string;
    /** What was tried. */
    check: string;
    /** Whether it worked. */
    ok: boolean;
    /** What the system answered, or what is wrong. */
    finding: string;
  }>;
  /** Whether every check worked. */
  ok: boolean;
};

export type EraseReport = {
  /** If true, nothing was changed: `erased` and `requests` are what would be deleted. */
  dry_run: boolean;
  /** Requests that were deleted, or would be. */
  erased: number;
  /** The requests that were deleted, or would be. */
  requests: Array<{
    /** The id of the request. */
    credential_request_id: string;
    /** Its state before. An open one is cancelled first. */
    state: "received" | "started" | "complete" | "partial" | "failed" | "cancelled";
    /** Users of its credentials with another name. They may be other people. */
    other_users: number;
  }>;
  /** Requests that could not be deleted. */
  left: Array<{
    /** A request that was left. */
    credential_request_id: string;
    /** Why it was left. */
    reason: string;
  }>;
};

export type ResumedSinkReport = {
  /** When the sink answered 410. Absent if it was not stopped. */
  stopped_at?: string;
};

export type ConnectorRestoreReport = {
  /** Requests that were restored. */
  requests: number;
  /** Of those, requests that have not ended. */
  open: number;
  /** Key responses that were restored. */
  blobs: number;
  /** Requests that were skipped. */
  skipped: number;
};

