import type { Policies } from "./service-errors.ts";

/** For SDKs that speak https alone: simulated services on this machine have no certificate. */
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
