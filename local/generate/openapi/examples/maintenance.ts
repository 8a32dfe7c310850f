import type { Examples } from "../operation.ts";

const backup = "2026-01-31T03-00-00.000Z-387f4ad8";

/** Examples of the maintenance tasks by function name, and of the health check. */
export const maintenanceExamples: Examples = {
  health: { status: 200, answer: { status: "ok" } },
  authReseal: {
    body: {},
    status: 200,
    answer: { data: { version: "8237760da3a525cbe17ce20a3bc07158", rows: 1, resealed: 0, failed: 0 } },
  },
  authBackUp: {
    body: {},
    status: 200,
    answer: { data: { backup, rows: { users: 1, otpkeys: 1, ids: 3, spentotps: 0 }, blobs: {}, removed: 0 } },
  },
  authRestore: {
    body: { backup, replace: true, otp_uses: 10 },
    status: 200,
    answer: { data: { users: 1, otpkeys: 1, skipped: 0, renamed: [] } },
  },
  connectorCheckPeers: {
    body: { users: [{ user_id: "ada.lovelace@example.com" }] },
    status: 200,
    answer: {
      data: {
        findings: [{ peer: "delivery service", check: "signing keys", ok: true, finding: "can be read" }],
        ok: true,
      },
    },
  },
  connectorErase: {
    body: { email: "ada.lovelace@example.com", dry_run: true },
    status: 200,
    answer: {
      data: {
        dry_run: true,
        erased: 1,
        requests: [
          { credential_request_id: "3f0c1c5e-7d0e-4f0a-9a1b-2c6f5d8e4b7a", state: "complete", other_users: 1 },
        ],
        left: [],
      },
    },
  },
  connectorResumeEvents: { body: { sink: 1 }, status: 200, answer: { data: {} } },
  connectorReseal: {
    body: {},
    status: 200,
    answer: { data: { version: "8237760da3a525cbe17ce20a3bc07158", rows: 1, resealed: 0, failed: 0 } },
  },
  connectorBackUp: {
    body: {},
    status: 200,
    answer: { data: { backup, rows: { credentialrequests: 2, idempotency: 1 }, blobs: { responses: 1 }, removed: 0 } },
  },
  connectorRestore: {
    body: { backup, replace: true },
    status: 200,
    answer: { data: { requests: 1, open: 1, blobs: 1, skipped: 0 } },
  },
};
