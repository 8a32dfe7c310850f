export type CredentialState = "processing" | "activation_pending" | "active" | "failed" | "cancelled";
export type KeyState = "processing" | "complete" | "partial" | "failed" | "cancelled";
export type RequestState = "received" | "started" | "complete" | "partial" | "failed" | "cancelled";
