import * as z from "zod";
import type { PeerRequest } from "../../../platform/call-peer.ts";
import { PeerFailure } from "../../../platform/peer-failure.ts";
import type { PeerApi } from "../../peers/access-token.ts";
import type { AicSettings } from "./settings.ts";
import { end, type JourneyStep, step } from "./wire.ts";

const stepOrEnd = z.union([step, end]);

/** Returns the calls of the journey that registers a credential. They return its next step; undefined at its end. */
export function journeyOf(realmUrl: string, { journey, "authentication-header": header }: AicSettings) {
  // Without noSession the journey would end with a session of the user.
  const query = new URLSearchParams({ authIndexType: "service", authIndexValue: journey, noSession: "true" });
  const url = `${realmUrl}/authenticate?${query}`;
  const requestOf = (token: string) =>
    ({
      method: "POST",
      url,
      // In the header that the journey expects.
      token: undefined,
      headers: {
        [header]: `Bearer ${token}`,
        // AM refuses calls without a version of its API.
        "accept-api-version": "resource=2.1, protocol=1.0",
        "content-type": "application/json",
      },
      response: stepOrEnd,
    }) as const;

  return {
    begin: ({ token, send }: PeerApi, operation: string) =>
      send({ ...requestOf(token), operation, mayRepeat: true }).catch(asConfiguration),

    /**
     * Continues after a step. It cannot be used again after that, also if the call fails.
     * @param options `hint` is added to the message if the journey ends with a failure
     */
    continueJourney: (
      { token, send }: PeerApi,
      operation: string,
      body: JourneyStep,
      { hint = "", notAfter }: { readonly hint?: string } & Pick<PeerRequest<unknown>, "notAfter"> = {},
    ) => send({ ...requestOf(token), operation, body, notAfter }).catch(journeyFailed(hint)),
  };
}

/**
 * Before a journey knows the user, it can only refuse the client: the configuration is wrong. A 403 gets no status,
 * because with 403 the failure would count as a refusal of the user.
 */
function asConfiguration(error: unknown): never {
  if (!(error instanceof PeerFailure) || error.isTransient) throw error;
  throw error.as("unauthorized", { status: error.status === 403 ? undefined : error.status });
}

/**
 * A 401 with AM's error code is the end of the journey, by failure or by time-out (code 110). The failure gets no
 * status, because with 401 the call would be repeated with a new token, and the step cannot be used again.
 */
const journeyFailed =
  (hint: string) =>
  (error: unknown): never => {
    if (!(error instanceof PeerFailure) || error.status !== 401 || error.code === undefined) throw error;
    throw error.as("refused", { status: undefined, detail: `${error.detail ?? ""}${hint}` });
  };
