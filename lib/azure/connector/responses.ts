import * as z from "zod";
import type { ResponseStore } from "../../connector/deps.ts";
import type { KeyResponses } from "../../connector/model/key-responses.ts";
import type { Blobs } from "../blobs.ts";

/** The container of key responses as received (decision C18). */
export const responsesContainer = "responses";

const keyResponses = z.object({
  serial: z.string().optional(),
  firmware: z.string().optional(),
  credentials: z.array(z.string()),
  pin: z.string().optional(),
});

/** A key's responses, one blob a key. */
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
      const told: KeyResponses = {
        credentials,
        ...(serial && { serial }),
        ...(firmware && { firmware }),
        ...(pin && { pin }),
      };
      return told;
    },
    remove: name => blobs.remove(responsesContainer, name),
    async removeAll(requestId) {
      for await (const name of blobs.list(responsesContainer, `${requestId}/`))
        await blobs.remove(responsesContainer, name);
    },
  };
}
