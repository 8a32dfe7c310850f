import type { TokenRules } from "../idp/tokens.ts";

/** The token endpoints of PingOne and of Advanced Identity Cloud. PingOne does not support PSS. */
export const pingTokens: TokenRules = {
  algorithms: ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512"],
  requiredClaims: ["exp"],
  errorBody: error => ({ error, error_description: `Request denied: ${error.replaceAll("_", " ")}` }),
};
