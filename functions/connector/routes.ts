import type { Api } from "../../lib/platform/http/api.ts";
import { type ApiTokenContext, apiTokenEndpoints } from "../../lib/platform/http/api-token-endpoints.ts";
import type { ConnectorContext } from "./context.ts";
import { createCredentialRequest, createCredentialRequestOnSite, createShipment } from "./creates.ts";
import { cancelCredentialRequest, getCredentialRequest, listCredentialRequests } from "./credential-requests.ts";
import { refuse } from "./errors.ts";
import { listEvents, resendEventsSince, resendEventToSink } from "./events.ts";
import {
  processCredentialRequestsNow,
  processCredentialRequestsNowV1,
  processShipmentsNow,
  processShipmentsNowV1,
} from "./jobs.ts";
import { offboardPerson } from "./offboard-person.ts";
import { resendPin, resendPinOfRequest, resendPinOfShipment } from "./resend-pin.ts";
import { revokeCredentialRequest, revokeOneCredential, revokeSecurityKey } from "./revoke.ts";
import { listSecurityKeys } from "./security-keys.ts";
import { getStatus, getStatusV1 } from "./status.ts";
import { getCredentialRequestV1, getShipment } from "./version-1.ts";

/** The connector's API on one page (specification section 4). The names become the functions' names. */
export const connector: Api<ConnectorContext & ApiTokenContext> = {
  name: "connector",
  title: "FIDO credential and shipment connector",
  input: "json",
  // The longest valid request has about 430 texts of 255 characters and 50 KiB of names. In 155 of the texts a
  // character may have four bytes; the others are ASCII.
  bodyLimitBytes: 393_216,
  refuse,
  endpoints: {
    v2CreateCredentialRequest: createCredentialRequest,
    v2GetCredentialRequest: getCredentialRequest,
    v2ListCredentialRequests: listCredentialRequests,
    v2ListCredentialRequestEvents: listEvents,
    v2ResendEvent: resendEventToSink,
    v2ResendEvents: resendEventsSince,
    v2CancelCredentialRequest: cancelCredentialRequest,
    v2ListSecurityKeys: listSecurityKeys,
    v2RevokeCredentialRequest: revokeCredentialRequest,
    v2RevokeSecurityKey: revokeSecurityKey,
    v2RevokeCredential: revokeOneCredential,
    v2OffboardPerson: offboardPerson,
    v2GetStatus: getStatus,
    v2ProcessShipments: processShipmentsNow,
    v2ProcessCredentialRequests: processCredentialRequestsNow,
    v2ResendPin: resendPin,
    v1CreateCredentialRequest: createCredentialRequestOnSite,
    v1CreateShipment: createShipment,
    v1GetShipment: getShipment,
    v1GetCredentialRequest: getCredentialRequestV1,
    v1GetStatus: getStatusV1,
    v1ProcessShipments: processShipmentsNowV1,
    v1ProcessCredentialRequests: processCredentialRequestsNowV1,
    v1ResendPin: resendPinOfRequest,
    v1ResendPinOfShipment: resendPinOfShipment,
    ...apiTokenEndpoints("connector"),
  },
};
