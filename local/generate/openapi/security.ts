import type { Access } from "../../../lib/platform/http/endpoint.ts";
import type { Json } from "./schemas.ts";

const sessionSchemes: Readonly<Record<string, Json>> = {
  session: { type: "apiKey", in: "cookie", name: "__Host-Service-Session", description: "The cookie of a login." },
  sessionHeader: {
    type: "apiKey",
    in: "header",
    name: "X-Service-Session",
    description: "The session in the body of a login. It takes precedence over the cookie.",
  },
};

/** The security schemes of each access; one of them is enough. */
export const schemes: Readonly<Record<Access, Readonly<Record<string, Json>>>> = {
  open: {},
  caller: {
    bearer: {
      type: "http",
      scheme: "bearer",
      description: "A token of the customer's tenant with the role of this API, or a static API token.",
    },
  },
  session: sessionSchemes,
  session_without_refresh: sessionSchemes,
  optional_session: sessionSchemes,
};
