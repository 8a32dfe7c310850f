import type { Client } from "openapi-fetch";
import type { CredentialRequest, paths } from "../../docs/openapi/connector.ts";
import { type ApiAnswer, dataOf } from "../api.ts";
import { usageError } from "../read-arguments.ts";

/**
 * Revokes the active credentials of a request, of one of its keys, or one credential (C21). Returns the request. Throws
 * `Refused`.
 * @param credential position on the key, from 1
 */
export async function revoke(
  connector: Client<paths>,
  [id = "", key, credential]: readonly string[],
  { command, isNotRegistered }: { readonly command: string; readonly isNotRegistered: boolean },
): Promise<CredentialRequest> {
  if (isNotRegistered && credential === undefined) throw usageError(command, "--not-registered needs ID, KEY and N.");
  const path = { credential_request_id: id };
  const answer: Promise<ApiAnswer<{ readonly data: CredentialRequest }>> =
    key === undefined
      ? connector.POST("/v2/credential-requests/{credential_request_id}/revoke", { params: { path } })
      : credential === undefined
        ? connector.POST("/v2/credential-requests/{credential_request_id}/security-keys/{key_id}/revoke", {
            params: { path: { ...path, key_id: key } },
          })
        : connector.POST(
            "/v2/credential-requests/{credential_request_id}/security-keys/{key_id}/credentials/{credential}/revoke",
            {
              params: { path: { ...path, key_id: key, credential } },
              ...(isNotRegistered && { body: { not_registered: true } }),
            },
          );
  const { data } = await dataOf(answer);
  if ((await answer).response.status === 202) console.error("A job continues with those that are revoking.");
  return data;
}
