import { createHash } from "node:crypto";
import type { Blobs } from "../../platform/azure/blobs.ts";
import { type KeyResponses, keyResponsesSchema } from "../model/security-key.ts";

/** The container of the responses of security keys, as received. */
export const responsesContainer = "responses";

/** Returns the start of the names of the blobs of a security key. They end with a hash of the content (`put`). */
const prefixOf = (requestId: string, keyId: string): string => `${requestId}/${keyId}.`;

export type ResponseStore = ReturnType<typeof responseBlobs>;

/** Returns the responses of security keys, one blob for each content that a security key has had. */
export function responseBlobs(blobs: Blobs) {
  return {
    /** Stores the responses of a security key beside former ones. Returns the blob name for its row. */
    async put(requestId: string, keyId: string, responses: KeyResponses): Promise<string> {
      const content = JSON.stringify(responses);
      const hash = createHash("sha256").update(content).digest("hex").slice(0, 32);
      const name = `${prefixOf(requestId, keyId)}${hash}.json`;
      await blobs.put(responsesContainer, name, content);
      return name;
    },
    async get(name: string): Promise<KeyResponses | undefined> {
      const bytes = await blobs.get(responsesContainer, name);
      return bytes && keyResponsesSchema.parse(JSON.parse(Buffer.from(bytes).toString()));
    },
    /** Removes all responses of a security key, including those that its row does not name. */
    removeOf: (requestId: string, keyId: string) => removeEach(blobs, prefixOf(requestId, keyId)),
    /** Removes all responses of a request, including those that no row names. */
    removeAll: (requestId: string) => removeEach(blobs, `${requestId}/`),
  };
}

async function removeEach(blobs: Blobs, prefix: string): Promise<void> {
  for await (const name of blobs.list(responsesContainer, prefix)) await blobs.remove(responsesContainer, name);
}
