import type { Api } from "../../lib/platform/http/api.ts";
import { type TokenContext, tokenEndpoints } from "../../lib/platform/http/authenticate/token-endpoints.ts";
import type { ConnectorContext } from "./context.ts";
import { refuse } from "./errors.ts";
import { processShipmentsNow, processShipmentsNowV1 } from "./process-shipments-now.ts";
import { createCredentialRequestOnSite } from "./v1/create-credential-request.ts";
import { createShipment } from "./v1/create-shipment.ts";
import { getCredentialRequestV1 } from "./v1/get-credential-request.ts";
import { getShipment } from "./v1/get-shipment.ts";
import { getStatusV1 } from "./v1/get-status.ts";
import { processCredentialRequestsNowV1 } from "./v1/process-credential-requests-now.ts";
import { resendPinOfRequest, resendPinOfShipment } from "./v1/resend-pin.ts";
import { cancelCredentialRequest } from "./v2/cancel-credential-request.ts";
import { createCredentialRequest } from "./v2/create-credential-request.ts";
import { getCredentialRequest } from "./v2/get-credential-request.ts";
import { getStatus } from "./v2/get-status.ts";
import { listCredentialRequests } from "./v2/list-credential-requests.ts";
import { listEvents } from "./v2/list-events.ts";
import { listSecurityKeys } from "./v2/list-security-keys.ts";
import { offboardPerson } from "./v2/offboard-person.ts";
import { processCredentialRequestsNow } from "./v2/process-credential-requests-now.ts";
import { resendEventsSince, resendEventToSink } from "./v2/resend-event.ts";
import { resendPin } from "./v2/resend-pin.ts";
import { revokeCredentialRequest, revokeOneCredential, revokeSecurityKey } from "./v2/revoke.ts";

/** The connector's API on one page (specification section 4). The names become the functions' names. */
export const connector: Api<ConnectorContext & TokenContext> = {
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
    ...tokenEndpoints("connector"),
  },
};
