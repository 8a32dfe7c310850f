/** A value as read, with the version (ETag) that a write must name. */
export interface Stored<T> {
  readonly value: T;
  readonly version: string;
}
