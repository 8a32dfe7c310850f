import { readHost } from "./calls.js";

/**
 * Ids of the host's identity providers, the default one first.
 * @returns {Promise<string[]>}
 */
export async function idpIds() {
  const { body } = await readHost("/v2/status");
  const others = Object.keys(body?.IDP_CONFIGURATIONS ?? {}).filter(id => id !== body.IDP_DEFAULT);
  return body?.IDP_DEFAULT === undefined ? others : [body.IDP_DEFAULT, ...others];
}
