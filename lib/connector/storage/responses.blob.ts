import { createHash } from "node:crypto";
import * as z from "zod";
import type { Blobs } from "../../platform/azure/blobs.ts";
import type { ResponseStore } from "../deps.ts";
import type { KeyResponses } from "../model/key-responses.ts";

/** The container of the responses of security keys, as received. */
export const responsesContainer = "responses";

const keyResponses = z.object({
  serial: z.string().optional(),
  firmware: z.string().optional(),
  credentials: z.array(z.string()),
  pin: z.string().optional(),
});

/** The name of a blob ends with a hash of its content, so that no write changes what a row names. */
const prefixOf = (requestId: string, keyId: string): string => `${requestId}/${keyId}.`;

/** Returns the store of responses, one blob for each content that a security key has had. */
export function responseBlobs(blobs: Blobs): ResponseStore {
  return {
    async put(requestId, keyId, responses) {
      const content = JSON.stringify(responses);
      const hash = createHash("sha256").update(content).digest("hex").slice(0, 32);
      const name = `${prefixOf(requestId, keyId)}${hash}.json`;
      await blobs.put(responsesContainer, name, content);
      return name;
    },
    async get(name) {
      const bytes = await blobs.get(responsesContainer, name);
      if (bytes === undefined) return undefined;
      const { serial, firmware, pin, credentials } = keyResponses.parse(JSON.parse(Buffer.from(bytes).toString()));
      const stored: KeyResponses = {
        credentials,
        ...(serial && { serial }),
        ...(firmware && { firmware }),
        ...(pin && { pin }),
      };
      return stored;
    },
    removeOf: (requestId, keyId) => removeEach(blobs, prefixOf(requestId, keyId)),
    removeAll: requestId => removeEach(blobs, `${requestId}/`),
  };
}

async function removeEach(blobs: Blobs, prefix: string): Promise<void> {
  for await (const name of blobs.list(responsesContainer, prefix)) await blobs.remove(responsesContainer, name);
}
