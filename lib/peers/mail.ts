/** The state of a send operation. `unknown`: the service has no operation with this id. */
export type MailStatus = "succeeded" | "running" | "failed" | "unknown";

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
  /** Sends a mail with at most one POST. */
  send(mail: Mail): Promise<void>;
  /** Returns what became of an earlier `send`. */
  status(operationId: string): Promise<MailStatus>;
}
