/** The responses of a security key as received from its peer, still encrypted. */
export interface KeyResponses {
  readonly serial?: string;
  readonly firmware?: string;
  readonly credentials: readonly string[];
  readonly pin?: string;
}
