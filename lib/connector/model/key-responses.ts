/** A key's responses as received from its peer, still encrypted (decision C14). */
export interface KeyResponses {
  readonly serial?: string;
  readonly firmware?: string;
  readonly credentials: readonly string[];
  readonly pin?: string;
}
