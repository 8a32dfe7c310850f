import { randomUUID } from "node:crypto";
import type { TokenRules } from "../idp/tokens.ts";

/** Code and text of Entra's errors. */
const errors: Readonly<Record<string, readonly [code: number, text: string]>> = {
  unsupported_grant_type: [70003, "The app requested an unsupported grant type."],
  invalid_client: [7000215, "Invalid client credentials provided."],
  invalid_scope: [1002012, "The provided value for scope is not valid."],
};

export const entraTokens: TokenRules = {
  algorithms: ["PS256", "RS256"],
  requiredClaims: ["exp", "jti"],
  refuseScope: scope => (scope?.endsWith("/.default") ? undefined : "invalid_scope"),
  errorBody: error => {
    const [code = 0, text = ""] = errors[error] ?? [];
    return {
      error,
      error_description: `AADSTS${code}: ${text}`,
      error_codes: [code],
      timestamp: new Date().toISOString(),
      trace_id: randomUUID(),
      correlation_id: randomUUID(),
    };
  },
};
