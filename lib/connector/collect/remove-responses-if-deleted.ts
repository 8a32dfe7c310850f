import type { ConnectorDeps } from "../deps.ts";

/**
 * Removes the responses of a request that no longer exists. Call it after a poll that could not be saved: the poll stores the responses
 * before it saves the row that names them, and the request may have been deleted or erased between the two.
 */
export async function removeResponsesIfDeleted(
  requestId: string,
  { requests, responses }: Pick<ConnectorDeps, "requests" | "responses">,
): Promise<void> {
  if ((await requests.load(requestId)) === undefined) await responses.removeAll(requestId);
}
