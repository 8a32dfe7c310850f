/** What became of a send. */
export interface MailStatus {
  /** `unknown`: the service has no operation with this id. */
  readonly status: "succeeded" | "running" | "failed" | "unknown";
  /** The service's error code of a failed send: letters and digits, no personal data. */
  readonly code?: string;
}

/** The code of an email that was dropped because all its addresses are on the mail service's suppression list. */
export const allSuppressedCode = "EmailDroppedAllRecipientsSuppressed";

export interface Mail {
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Names the send, so that its status can be read if its answer was lost. */
  readonly operationId: string;
}

/** A mail service. Its methods throw `PeerFailure`. */
export interface Mailer {
  /** Sends an email with at most one POST. */
  send(mail: Mail): Promise<void>;
  /** Returns what became of an earlier `send`. */
  status(operationId: string): Promise<MailStatus>;
}
