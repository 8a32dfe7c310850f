import { createIdpTokens, type IdpClient, type IdpTokens, type IdpTokensState } from "../idp/tokens.ts";
import type { State } from "../state-file.ts";

/** The token endpoints of PingOne and of Advanced Identity Cloud. PingOne does not support PSS. */
export const createPingTokens = (client: IdpClient, file: State<IdpTokensState>, expiresIn: () => number): IdpTokens =>
  createIdpTokens(client, file, {
    expiresIn,
    algorithms: ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512"],
    requiredClaims: ["exp"],
    errorBody: error => ({ error, error_description: `Request denied: ${error.replaceAll("_", " ")}` }),
  });
