/** The state of a send operation. `unknown`: the service has no operation with this id. */
export type MailStatus = "succeeded" | "running" | "failed" | "unknown";

/** A mail service. Its methods throw `PeerFailure`. */
export interface Mailer {
  /** Sends a mail with at most one POST. */
  send(mail: {
    readonly to: readonly string[];
    readonly subject: string;
    readonly text: string;
    readonly html: string;
    readonly operationId: string;
  }): Promise<void>;
  /** Returns what became of an earlier `send`. */
  status(operationId: string): Promise<MailStatus>;
}
