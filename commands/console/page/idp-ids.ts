import { ask, type Outcome } from "./calls.ts";

/** Returns the ids of the host's identity providers, the default one first. */
export async function idpIds(): Promise<readonly string[]> {
  const { body } = await ask<Outcome<{ IDP_DEFAULT?: string; IDP_CONFIGURATIONS?: object }>>("GET", "host/v2/status");
  const others = Object.keys(body?.IDP_CONFIGURATIONS ?? {}).filter(id => id !== body.IDP_DEFAULT);
  return body?.IDP_DEFAULT === undefined ? others : [body.IDP_DEFAULT, ...others];
}
