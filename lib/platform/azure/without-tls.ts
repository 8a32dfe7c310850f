import type { Policies } from "./service-errors.ts";

/** Makes SDKs that require https call local simulated services with http, because these have no certificate. */
export const withoutTls: Policies[number] = {
  position: "perRetry",
  policy: {
    name: "withoutTls",
    async sendRequest(request, next) {
      const { url } = request;
      request.url = url.replace(/^https:/, "http:");
      request.allowInsecureConnection = true;
      try {
        return await next(request);
      } finally {
        request.url = url;
      }
    },
  },
};
