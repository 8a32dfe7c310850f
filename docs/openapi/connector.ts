// Written by npm run openapi from connector.json: types of its calls for the commands.

/** A body in JSON. */
interface Json<T> {
  content: { "application/json": T };
}

/** No body. */
type Empty = { content?: never };

/** A call: its parameters, body and successful responses by status. Every other response has the body of an error. */
type Call<T> = {
  parameters: Pick<T, keyof T & ("path" | "query" | "header")>;
  responses: Pick<T, keyof T & number> & { default: Json<ErrorResponse> };
} & Pick<T, keyof T & "requestBody">;

export interface paths {
  "/v2/credential-requests": {
    post: Call<{
      query?: { dry_run?: boolean };
      header?: { "Idempotency-Key"?: string };
      requestBody: Json<CredentialRequestOrder>;
      200: Json<{ data: DryRun }>;
      201: Json<{ data: CreatedCredentialRequest }>;
    }>;
    get: Call<{
      query?: {
        state?: "received" | "started" | "complete" | "partial" | "failed" | "cancelled";
        customer_reference?: string;
        email?: string;
        external_id?: string;
        serial_number?: string;
        user_id?: string;
        created_after?: string;
        $top?: number;
        $skiptoken?: string;
      };
      200: Json<Array<ListedCredentialRequest>>;
    }>;
  };
  "/v2/credential-requests/{credential_request_id}": {
    get: Call<{ path: { credential_request_id: string }; 200: Json<{ data: CredentialRequest }> }>;
  };
  "/v2/credential-requests/{credential_request_id}/events": {
    get: Call<{
      path: { credential_request_id: string };
      200: Json<{ data: Array<RequestEvent>; sinks: Array<EventSink> }>;
    }>;
  };
  "/v2/credential-requests/{credential_request_id}/events/{event_id}/resend": {
    post: Call<{
      path: { credential_request_id: string; event_id: string };
      requestBody: Json<{ sink: number }>;
      200: Json<{ data: { sink: number; delivered: boolean; delivered_at?: string; error_message?: string } }>;
    }>;
  };
  "/v2/events/resend": {
    post: Call<{
      requestBody: Json<{ sink: number; since: string; after?: string }>;
      200: Json<{ data: { requests: number; events: number; left: number; is_complete: boolean; next?: string } }>;
    }>;
  };
  "/v2/credential-requests/{credential_request_id}/cancel": {
    post: Call<{ path: { credential_request_id: string }; 200: Json<{ data: CredentialRequest }> }>;
  };
  "/v2/security-keys": {
    get: Call<{
      query?: {
        serial_number?: string;
        user_id?: string;
        state?: CredentialState;
        aaguid?: string;
        $top?: number;
        $skiptoken?: string;
      };
      200: Json<Array<RegisteredKey>>;
    }>;
  };
  "/v2/credential-requests/{credential_request_id}/revoke": {
    post: Call<{
      path: { credential_request_id: string };
      200: Json<{ data: CredentialRequest }>;
      202: Json<{ data: CredentialRequest }>;
    }>;
  };
  "/v2/credential-requests/{credential_request_id}/security-keys/{key_id}/revoke": {
    post: Call<{
      path: { credential_request_id: string; key_id: string };
      200: Json<{ data: CredentialRequest }>;
      202: Json<{ data: CredentialRequest }>;
    }>;
  };
  "/v2/credential-requests/{credential_request_id}/security-keys/{key_id}/credentials/{credential}/revoke": {
    post: Call<{
      path: { credential_request_id: string; key_id: string; credential: string };
      requestBody?: Json<{ not_registered?: boolean }>;
      200: Json<{ data: CredentialRequest }>;
      202: Json<{ data: CredentialRequest }>;
    }>;
  };
  "/v2/people/offboard": {
    post: Call<{
      requestBody: Json<{ user_id?: string; idp_id?: string; email?: string; dry_run?: boolean }>;
      200: Json<{ data: OffboardReport }>;
      202: Json<{ data: OffboardReport }>;
    }>;
  };
  "/v2/status": {
    get: Call<{
      200: Json<{
        CLOUD_STORAGE_BLOB_ENDPOINT: string;
        CLOUD_TABLES_SHIPMENTS_TABLE_NAME: string;
        CLOUD_TENANT_ID: string;
        CRON_PROCESS_SHIPMENT_SCHEDULE: string;
        CRON_PROCESS_CREDENTIAL_REQUESTS_SCHEDULE: string;
        CRON_DATA_CLEANUP_SCHEDULE: string;
        CRON_DATA_CLEANUP_COMPLETED_DAYS: string;
        FIDO_CONNECTOR_VERSION: string;
        LOGGING_LEVEL_COM_SERVICE: string;
        EMAIL_API_SEND_ENDPOINT: string;
        DELIVERY_API_BASE_URL: string;
        DELIVERY_JWKS_SIGN_ENDPOINT: string;
        DELIVERY_JWKS_TRANSPORT_ENDPOINT: string;
        RFPR_API_BASE_URL: string;
        RFPR_RETRY_NUMBER_DAYS: string;
        ENROLLMENT_SERVICE_API_BASE_URL: string;
        IDP_DEFAULT: string;
        IDP_ENABLE_MULTI_IDP: string;
        IDP_CONFIGURATION_PATH: string;
        IDP_CONFIGURATIONS: Record<string, Record<string, string | number>>;
      }>;
    }>;
  };
  "/v2/operations/process-shipments": { get: Call<{ 204: Empty }> };
  "/v2/operations/process-credential-requests": { post: Call<{ 200: Json<{ data: ProcessedCredentials }> }> };
  "/v2/credential-requests/{credential_request_id}/resend-pin": {
    post: Call<{
      path: { credential_request_id: string };
      200: Json<{ data: { sent: number; unsent: Array<{ key_id: string; error_message: string }> } }>;
    }>;
  };
  "/api-tokens": {
    post: Call<{
      requestBody: Json<{ name: string; expires_at?: string; role?: "read" | "support" | "call" }>;
      201: Json<NewApiToken>;
    }>;
    get: Call<{ 200: Json<Array<ApiToken>> }>;
  };
  "/caller": { get: Call<{ 200: Json<Caller> }> };
  "/api-tokens/{id}": { delete: Call<{ path: { id: string }; 204: Empty }> };
}

export type ErrorResponse = {
  error_code: "api_error" | "delivery_error" | "idp_error";
  error_message: string;
  error_data?: ErrorData;
};

export type ErrorData = {
  error_type?: "validation" | "authentication" | "not_found" | "conflict" | "throttled" | "internal";
  fields?: Array<Problem>;
  warnings?: Array<Problem>;
  code?: unknown;
  message?: string;
  credential_request_id?: string;
};

export type Problem = { path: string; reason: string; code?: string };

export type CredentialRequestOrder = {
  recipient: Recipient;
  enrollment_contacts: { emails_to: Array<string> };
  shipment?: ShipmentOrder;
  authenticators?: Array<AuthenticatorOrder>;
  replaces?: Replacement;
};

export type Recipient = {
  email: string;
  first_name: string;
  last_name: string;
  company?: string;
  telephone: string;
  external_id?: string;
};

export type ShipmentOrder = {
  delivery_type?: 1 | 2;
  reseller_organization_id?: string;
  customer_reference?: string;
  address_validation_bypass?: boolean;
  mailing_address: ShippingAddress;
  shipment_items: Array<ShipmentItem>;
};

export type ShippingAddress = {
  street_line1: string;
  street_line2?: string;
  postal_code: string;
  city: string;
  region?: string;
  country_code: string;
};

export type ShipmentItem = {
  name?: string;
  customization_id?: string;
  product_id: string;
  inventory_product_id: string;
  pin_request?: { length?: number; type?: "generate" };
  credentials: Array<CredentialOrder>;
};

export type CredentialOrder = { idp_id?: string; relying_party_id?: string; user_id: string };

export type AuthenticatorOrder = {
  name?: string;
  customization_id?: string;
  preferred_authenticator_type?: "hardware" | "software";
  pin_request?: {
    min_length?: number;
    entry_method?: "generated" | "user_entered";
    delivery_method?: "none" | "app" | "email";
  };
  credentials: Array<CredentialOrder>;
};

export type Replacement = {
  credential_request_id: string;
  key_id: string;
  reason: "lost" | "stolen" | "broken" | "undelivered";
  revoke: "now" | "when_active";
};

export type DryRun = { request: CredentialRequestOrder; warnings: Array<Problem> };

export type CreatedCredentialRequest = { credential_request_id: string; shipment_id?: string };

export type CredentialRequest = {
  credential_request_id: string;
  external_id?: string;
  state: "received" | "started" | "complete" | "partial" | "failed" | "cancelled";
  error_message?: string;
  replaces?: Replacement;
  authenticators?: Array<SecurityKey>;
  shipment?: {
    shipment_id?: string;
    customer_reference?: string;
    tracking?: { number?: string; link?: string };
    delivery?: {
      state: "in_transit" | "delivered" | "lost" | "exception" | "unknown";
      error_message?: string;
      shipped_at: string;
      ended_at?: string;
    };
    shipment_items: Array<SecurityKey>;
    mailing_address: MailingAddress;
  };
  enrollment_contacts?: { emails_to: Array<string> };
};

export type SecurityKey = {
  id: string;
  name: string;
  serial_number?: string;
  state: "processing" | "complete" | "partial" | "failed" | "cancelled";
  credentials: Array<Credential>;
  replaced_by?: string;
};

export type Credential = {
  idp_id: string;
  relying_party_id?: string;
  user_id: string;
  state: CredentialState;
  retryable_until?: string;
  error_message?: string;
  may_be_registered?: boolean;
  revocation?: {
    reason: "requested" | "lost" | "replaced" | "offboarded";
    requested_at: string;
    revoked_at?: string;
    failed_attempts: number;
    error_message?: string;
  };
};

export type CredentialState = "processing" | "activation_pending" | "active" | "failed" | "cancelled" | "revoking" | "revoked" | "revoke_failed";

export type MailingAddress = {
  street_line1: string;
  street_line2?: string;
  postal_code: string;
  city: string;
  region?: string;
  country_code: string;
};

export type ListedCredentialRequest = {
  credential_request_id: string;
  external_id?: string;
  state: "received" | "started" | "complete" | "partial" | "failed" | "cancelled";
  error_message?: string;
  replaces?: Replacement;
  authenticators?: Array<SecurityKey>;
  shipment?: {
    shipment_id?: string;
    customer_reference?: string;
    tracking?: { number?: string; link?: string };
    delivery?: {
      state: "in_transit" | "delivered" | "lost" | "exception" | "unknown";
      error_message?: string;
      shipped_at: string;
      ended_at?: string;
    };
    shipment_items: Array<SecurityKey>;
    mailing_address: MailingAddress;
  };
  created_at: string;
};

export type RequestEvent = {
  id: string;
  type: string;
  time: string;
  sequence: string;
  data: Record<string, unknown>;
  deliveries: Array<EventDelivery>;
};

export type EventDelivery = {
  sink: number;
  state: "pending" | "delivered" | "given_up";
  delivered_at?: string;
  attempts?: number;
  next_attempt_at?: string;
  error_message?: string;
};

export type EventSink = {
  sink: number;
  state: "active" | "paused" | "stopped";
  paused_until?: string;
  stopped_at?: string;
  failed_attempts?: number;
  failed_at?: string;
  error_message?: string;
};

export type RegisteredKey = {
  credential_request_id: string;
  key_id: string;
  credential: number;
  serial_number?: string;
  firmware?: string;
  aaguid?: string;
  idp_id: string;
  user_id: string;
  state: CredentialState;
  may_be_registered?: boolean;
  ordered_at: string;
  delivered_at?: string;
  activated_at?: string;
  revoked_at?: string;
  replaced_by?: string;
};

export type OffboardReport = {
  is_complete: boolean;
  matched: number;
  credentials: Array<{
    credential_request_id: string;
    key_id: string;
    credential: number;
    idp_id: string;
    user_id: string;
    serial_number?: string;
    state: CredentialState;
    revocation?: {
      reason: "requested" | "lost" | "replaced" | "offboarded";
      requested_at: string;
      revoked_at?: string;
      failed_attempts: number;
      error_message?: string;
    };
    action: "cancel" | "revoke" | "none";
    problem?: string;
  }>;
};

export type ProcessedCredentials = { processed: number; activated: number; failed: number; pending: number };

export type NewApiToken = {
  id: string;
  name: string;
  created_at: string;
  expires_at?: string;
  role?: "read" | "support" | "import" | "admin" | "call";
  last_used_on?: string;
  token: string;
};

export type ApiToken = {
  id: string;
  name: string;
  created_at: string;
  expires_at?: string;
  role?: "read" | "support" | "import" | "admin" | "call";
  last_used_on?: string;
};

export type Caller = {
  kind: "tenant" | "api_token";
  application: string;
  subject?: string;
  roles: Array<"read" | "support" | "import" | "admin" | "call">;
};

