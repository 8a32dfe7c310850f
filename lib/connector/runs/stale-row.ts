import { between, type Instant } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";

/**
 * Returns whether an index row that does not match its request is old enough to be removed: the writer of a recent one
 * may be between the index row and the rows of the request.
 * @param options `isOrphan`: whether the index row points to no request
 */
export const isStaleRow = (
  { writtenAt }: { readonly writtenAt: Instant },
  { isOrphan }: { readonly isOrphan: boolean },
  { now, intervals }: Pick<ConnectorDeps, "now" | "intervals">,
): boolean => between(writtenAt, now()) > (isOrphan ? intervals.orphanRowMs : intervals.staleRowMs);
