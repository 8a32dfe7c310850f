import * as z from "zod";
import type { ResponseStore } from "../../connector/deps.ts";
import type { KeyResponses } from "../../connector/model/key-responses.ts";
import type { Blobs } from "../blobs.ts";

/** The container of the responses of security keys, as received. */
export const responsesContainer = "responses";

const keyResponses = z.object({
  serial: z.string().optional(),
  firmware: z.string().optional(),
  credentials: z.array(z.string()),
  pin: z.string().optional(),
});

/** Returns the store of responses, one blob for each security key. */
export function responseBlobs(blobs: Blobs): ResponseStore {
  return {
    async put(requestId, keyId, responses) {
      const name = `${requestId}/${keyId}.json`;
      await blobs.put(responsesContainer, name, JSON.stringify(responses));
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
    remove: name => blobs.remove(responsesContainer, name),
    async removeAll(requestId) {
      for await (const name of blobs.list(responsesContainer, `${requestId}/`))
        await blobs.remove(responsesContainer, name);
    },
  };
}
