// Written by npm run openapi from connector.json: types for openapi-fetch.

export interface paths {
  "/v2/credential-requests": {
    /** Request credentials on keys that are shipped or programmed on site */
    post: {
      parameters: {
        query?: {
          /** Checks the request and orders nothing: nothing is stored, and nothing is changed at an identity provider. An `Idempotency-Key` is not used up. */
          dry_run?: boolean;
        };
        header?: {
          /** Makes the call safe to repeat: within 7 days, the same key of the same caller creates one request. Use a new random value for each request. */
          "Idempotency-Key"?: string;
        };
      };
      requestBody: { content: { "application/json": CredentialRequestOrder } };
      responses: {
        200: { content: { "application/json": {
        data: DryRun;
      } } };
        201: { content: { "application/json": {
        data: CreatedCredentialRequest;
      } } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
    /** List credential requests, all or those that match every filter */
    get: {
      parameters: {
        query?: {
          /** Only requests in this state. */
          state?: "received" | "started" | "complete" | "partial" | "failed" | "cancelled";
          /** Only requests whose shipment has this reference, in any letter case. */
          customer_reference?: string;
          /** Only requests whose recipient has this email, in any letter case. */
          email?: string;
          /** Only requests whose recipient has this `external_id`, in any letter case. */
          external_id?: string;
          /** Only requests with a security key of this serial number. */
          serial_number?: string;
          /** Only requests with a credential for this user, in any letter case. */
          user_id?: string;
          /** Only requests made later than this time, ISO 8601; a date means its beginning in UTC. */
          created_after?: string;
          /** Maximum number of entries of a page, 1 to 1000; 100 by default. */
          $top?: number;
          /** Where the page begins: from the link to it. */
          $skiptoken?: string;
        };
      };
      responses: {
        200: { content: { "application/json": Array<ListedCredentialRequest> } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/v2/credential-requests/{credential_request_id}": {
    /** Read a credential request with the state of every key and credential */
    get: {
      parameters: {
        path: { credential_request_id: string };
      };
      responses: {
        200: { content: { "application/json": {
        data: CredentialRequest;
      } } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/v2/credential-requests/{credential_request_id}/events": {
    /** List the events of a credential request with their deliveries */
    get: {
      parameters: {
        path: { credential_request_id: string };
      };
      responses: {
        200: { content: { "application/json": {
        data: Array<RequestEvent>;
        sinks: Array<EventSink>;
      } } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/v2/credential-requests/{credential_request_id}/events/{event_id}/resend": {
    /** Send an event to an event sink again */
    post: {
      parameters: {
        path: { credential_request_id: string; event_id: string };
      };
      requestBody: { content: { "application/json": {
        /** Position of the sink in `EVENT_SINK_URLS`, from 1. */
        sink: number;
      } } };
      responses: {
        200: { content: { "application/json": {
        data: {
          /** Position of the sink in `EVENT_SINK_URLS`, from 1. */
          sink: number;
          /** Whether the sink accepted the event. */
          delivered: boolean;
          /** When the sink accepted it. */
          delivered_at?: string;
          /** Why the delivery failed. */
          error_message?: string;
        };
      } } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/v2/events/resend": {
    /** Send the events since a time to an event sink again */
    post: {
      parameters: {};
      requestBody: { content: { "application/json": {
        /** Position of the sink in `EVENT_SINK_URLS`, from 1. */
        sink: number;
        /** Time, ISO 8601. */
        since: string;
        /** `next` of the call before. */
        after?: string;
      } } };
      responses: {
        200: { content: { "application/json": {
        data: {
          /** Requests with events that are due again. */
          requests: number;
          /** Events that are due again. */
          events: number;
          /** Requests whose events were being sent or could not be read. Repeat the call. */
          left: number;
          /** Whether every request was read before the time was over. */
          is_complete: boolean;
          /** If not complete: call again with it as `after`. */
          next?: string;
        };
      } } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/v2/credential-requests/{credential_request_id}/cancel": {
    /** Cancel what is not produced yet; a shipment only while the delivery service can still delete it */
    post: {
      parameters: {
        path: { credential_request_id: string };
      };
      responses: {
        200: { content: { "application/json": {
        data: CredentialRequest;
      } } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/v2/security-keys": {
    /** List security keys, all or those that match every filter */
    get: {
      parameters: {
        query?: {
          /** Only keys with this serial number. */
          serial_number?: string;
          /** Only credentials for this user, in any letter case. */
          user_id?: string;
          /** Only credentials in this state. */
          state?: "processing" | "activation_pending" | "active" | "failed" | "cancelled" | "revoking" | "revoked" | "revoke_failed";
          /** Only keys of this model. */
          aaguid?: string;
          /** Maximum number of entries of a page, 1 to 1000; 100 by default. */
          $top?: number;
          /** Where the page begins: from the link to it. */
          $skiptoken?: string;
        };
      };
      responses: {
        200: { content: { "application/json": Array<RegisteredKey> } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/v2/credential-requests/{credential_request_id}/revoke": {
    /** Remove every active credential of a request at its identity provider */
    post: {
      parameters: {
        path: { credential_request_id: string };
      };
      responses: {
        200: { content: { "application/json": {
        data: CredentialRequest;
      } } };
        202: { content: { "application/json": {
        data: CredentialRequest;
      } } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/v2/credential-requests/{credential_request_id}/security-keys/{key_id}/revoke": {
    /** Remove every active credential of one key at its identity provider */
    post: {
      parameters: {
        path: { credential_request_id: string; key_id: string };
      };
      responses: {
        200: { content: { "application/json": {
        data: CredentialRequest;
      } } };
        202: { content: { "application/json": {
        data: CredentialRequest;
      } } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/v2/credential-requests/{credential_request_id}/security-keys/{key_id}/credentials/{credential}/revoke": {
    /** Remove one active credential of a key at its identity provider */
    post: {
      parameters: {
        path: { credential_request_id: string; key_id: string; credential: string };
      };
      responses: {
        200: { content: { "application/json": {
        data: CredentialRequest;
      } } };
        202: { content: { "application/json": {
        data: CredentialRequest;
      } } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/v2/people/offboard": {
    /** Cancel open requests of a person who leaves, and revoke the active credentials at every IdP */
    post: {
      parameters: {};
      requestBody: { content: { "application/json": {
        /** The user, as creates named it, in any letter case. */
        user_id?: string;
        /** Only credentials at this IdP; beside `user_id`. */
        idp_id?: string;
        /** The recipient of requests, instead of `user_id`. The credentials are those whose user has this email or the `external_id` of the recipient. A request that is only in the register names no recipient: it is found by this email only if that is the user. Call with the `user_id` as well if it is another name. */
        email?: string;
        /** If true, changes nothing and reports what would be done. */
        dry_run?: boolean;
      } } };
      responses: {
        200: { content: { "application/json": {
        data: OffboardReport;
      } } };
        202: { content: { "application/json": {
        data: OffboardReport;
      } } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/v2/status": {
    /** Read the settings of this deployment */
    get: {
      parameters: {};
      responses: {
        200: { content: { "application/json": {
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
        /** Settings of every configured identity provider by its id, without secrets. */
        IDP_CONFIGURATIONS: Record<string, Record<string, string | number>>;
      } } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/v2/operations/process-shipments": {
    /** Retrieve and process shipment responses now */
    get: {
      parameters: {};
      responses: {
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/v2/operations/process-credential-requests": {
    /** Activate credentials and send PIN emails now */
    post: {
      parameters: {};
      responses: {
        200: { content: { "application/json": {
        data: ProcessedCredentials;
      } } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/v2/credential-requests/{credential_request_id}/resend-pin": {
    /** Resend the PIN email of every key that has a PIN response */
    post: {
      parameters: {
        path: { credential_request_id: string };
      };
      responses: {
        200: { content: { "application/json": {
        data: {
          /** Mails sent. */
          sent: number;
        };
      } } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/v1/credential-requests": {
    /** Request credentials on an authenticator that is programmed on site */
    post: {
      parameters: {
        header?: {
          /** Makes the call safe to repeat: within 7 days, the same key of the same caller creates one request. Use a new random value for each request. */
          "Idempotency-Key"?: string;
        };
      };
      requestBody: { content: { "application/json": CredentialRequestOrderV1 } };
      responses: {
        201: { content: { "application/json": CreatedCredentialRequestV1 } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/v1/fpr/shipments": {
    /** Request keys for one user, programmed and shipped */
    post: {
      parameters: {
        header?: {
          /** Makes the call safe to repeat: within 7 days, the same key of the same caller creates one request. Use a new random value for each request. */
          "Idempotency-Key"?: string;
        };
      };
      requestBody: { content: { "application/json": ShipmentOrderV1 } };
      responses: {
        201: { content: { "application/json": CreatedShipmentV1 } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/v1/fpr/shipments/{shipment_id}": {
    /** Read the state of a shipment */
    get: {
      parameters: {
        path: { shipment_id: string };
      };
      responses: {
        200: { content: { "application/json": ShipmentV1 } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/v1/credential-requests/{credential_request_id}": {
    /** Read a credential request */
    get: {
      parameters: {
        path: { credential_request_id: string };
      };
      responses: {
        200: { content: { "application/json": CredentialRequestV1 } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/v1/status": {
    /** Read the settings of this deployment */
    get: {
      parameters: {};
      responses: {
        200: { content: { "application/json": Record<string, string> } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/v1/operations/process-shipments": {
    /** Retrieve and process shipment responses now */
    get: {
      parameters: {};
      responses: {
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/v1/operations/process-credential-requests": {
    /** Activate credentials and send PIN emails now */
    post: {
      parameters: {};
      responses: {
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/v1/credential-requests/{credential_request_id}/resend-pin": {
    /** Resend the PIN emails of a credential request */
    post: {
      parameters: {
        path: { credential_request_id: string };
      };
      responses: {
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/v1/operations/resend-pin/{shipment_id}": {
    /** Resend the PIN emails of a shipment */
    get: {
      parameters: {
        path: { shipment_id: string };
      };
      responses: {
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/api-tokens": {
    /** Create a static API token, which is shown only once */
    post: {
      parameters: {};
      requestBody: { content: { "application/json": {
        /** Name of the application that will use the token. */
        name: string;
        /** The token is accepted before this time, ISO 8601; default: until it is revoked. */
        expires_at?: string;
        /** What the token may do: `read`, `support` (also send PIN emails again, cancel, revoke, offboard), `call` (everything, the default). */
        role?: "read" | "support" | "call";
      } } };
      responses: {
        201: { content: { "application/json": NewApiToken } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
    /** List static API tokens */
    get: {
      parameters: {};
      responses: {
        200: { content: { "application/json": Array<ApiToken> } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/caller": {
    /** View the caller and its roles */
    get: {
      parameters: {};
      responses: {
        200: { content: { "application/json": Caller } };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
  "/api-tokens/{id}": {
    /** Revoke a static API token */
    delete: {
      parameters: {
        path: { id: string };
      };
      responses: {
        204: { content?: never };
        default: { content: { "application/json": ErrorResponse } };
      };
    };
  };
}

export type ErrorResponse = {
  /** Where the error comes from. */
  error_code: "api_error" | "delivery_error" | "idp_error";
  /** What is wrong, for people. The text can change. */
  error_message: string;
  /** Details for programs. Absent with `idp_error`. */
  error_data?: ErrorData;
};

export type ErrorData = {
  /** Only with `api_error`. */
  error_type?: "validation" | "authentication" | "not_found" | "conflict" | "throttled" | "internal";
  /** Every field that is wrong. Only with `validation`, and with `dry_run` what could not be checked. */
  fields?: Array<Problem>;
  /** Only with `dry_run`: what does not prevent the order, but may prevent an activation. */
  warnings?: Array<Problem>;
  /** Only with `delivery_error`: the delivery service's code. */
  code?: unknown;
  /** Only with `delivery_error`: the delivery service's message. */
  message?: string;
  /** The request, if it exists although the call failed. Read it to see what became of it. */
  credential_request_id?: string;
};

/** One field that is wrong. */
export type Problem = {
  /** The field, as in `shipment.shipment_items[0].name`. */
  path: string;
  /** What is wrong with it, as the rest of a sentence that begins with the field. */
  reason: string;
  /** Only with `dry_run`: names the reason for programs, as in `user_guest`. */
  code?: string;
};

/** A request for credentials on keys that are shipped, programmed on site, or both. */
export type CredentialRequestOrder = {
  /** Who gets the keys. */
  recipient: Recipient;
  /** Who receives the PIN email. */
  enrollment_contacts: {
    /** The PIN is sent here. Addresses must differ in more than letter case. */
    emails_to: Array<string>;
  };
  /** Keys that are programmed and shipped. Required without `authenticators`. */
  shipment?: ShipmentOrder;
  /** Keys or passkeys that are programmed on site. Required without `shipment`. */
  authenticators?: Array<AuthenticatorOrder>;
  /** A key that the keys of this request replace. */
  replaces?: Replacement;
};

export type Recipient = {
  /** Takes the delivery notifications of a shipment. */
  email: string;
  /** May be blank where `company` is given. */
  first_name: string;
  /** May be blank where `company` is given. */
  last_name: string;
  /** Company, in addition to or instead of a name. */
  company?: string;
  /** For the carrier only: digits, `+`, `(` and `)`; dashes are accepted. */
  telephone: string;
  /** Unique identifier of the recipient. By default the email. */
  external_id?: string;
};

export type ShipmentOrder = {
  /** 1 standard, 2 expedited. */
  delivery_type?: 1 | 2;
  /** Organization of the channel partner in the delivery service. */
  reseller_organization_id?: string;
  /** The customer's own reference. */
  customer_reference?: string;
  /** Ship without validation of the address. */
  address_validation_bypass?: boolean;
  /** Where the keys go. */
  mailing_address: ShippingAddress;
  /** Keys to program and ship. */
  shipment_items: Array<ShipmentItem>;
};

export type ShippingAddress = {
  /** Street and number. */
  street_line1: string;
  /** Further line of the street address. */
  street_line2?: string;
  /** A space, or 00000, where the country has no postal codes. */
  postal_code: string;
  /** City. */
  city: string;
  /** Two-letter postal code of the region. Required in the US, at US military bases and in Canada. */
  region?: string;
  /** ISO 3166-1 alpha-2, in any case. */
  country_code: string;
};

/** One security key to program and ship. */
export type ShipmentItem = {
  /** Custom name, shown as `<name>: <serial>`. By default `Pre-Reg Key`. */
  name?: string;
  /** Customization of the key. */
  customization_id?: string;
  /** Product model of the key. */
  product_id: string;
  /** Subscription that the key is taken from. */
  inventory_product_id: string;
  /** Asks for a PIN. Absent: the key has none. */
  pin_request?: {
    /** PIN characters to generate; a key whose own minimum is longer gets that. */
    length?: number;
    /** How the PIN comes about. */
    type?: "generate";
  };
  /** In the order in which the key gets them, which decides what sign-in offers first. */
  credentials: Array<CredentialOrder>;
};

/** One credential: a user at an identity provider. */
export type CredentialOrder = {
  /** The IdP. By default that of the deployment. */
  idp_id?: string;
  /** By default that of the IdP. */
  relying_party_id?: string;
  /** The user at the relying party, as the IdP knows it: principal name, object id or username. */
  user_id: string;
};

/** One security key or app passkey to program on site. */
export type AuthenticatorOrder = {
  /** Custom name. By default `Pre-Reg Key`. */
  name?: string;
  /** Customization of the key. */
  customization_id?: string;
  /** A passkey on a physical key, or for example on a mobile device. */
  preferred_authenticator_type?: "hardware" | "software";
  /** Asks for a PIN. Absent: the key has none. */
  pin_request?: {
    /** Least number of PIN characters. */
    min_length?: number;
    /** Generated beforehand, or entered at the enrollment on site. */
    entry_method?: "generated" | "user_entered";
    /** How the PIN reaches its user. */
    delivery_method?: "none" | "app" | "email";
  };
  /** In the order in which the key gets them, which decides what sign-in offers first. */
  credentials: Array<CredentialOrder>;
};

/** The key that the keys of a request replace. */
export type Replacement = {
  /** The request of the replaced key, also after its clean-up. */
  credential_request_id: string;
  /** The replaced key: its `id` in the read model. */
  key_id: string;
  /** Why it is replaced. */
  reason: "lost" | "stolen" | "broken" | "undelivered";
  /** When its active credentials are revoked: `now`, once the order is placed; `when_active`, each once every new credential of its user at the identity provider has ended and one is active, or 30 days after the order. */
  revoke: "now" | "when_active";
};

export type DryRun = {
  /** The request as it would be ordered, with the default of every field that was left out. */
  request: CredentialRequestOrder;
  /** What does not prevent the order, but may prevent an activation, or was not checked. */
  warnings: Array<Problem>;
};

export type CreatedCredentialRequest = {
  /** Names the request. */
  credential_request_id: string;
  /** The delivery service's id, if keys are shipped. */
  shipment_id?: string;
};

export type CredentialRequest = {
  /** Names the request. */
  credential_request_id: string;
  /** The recipient's identifier, where the create named one. */
  external_id?: string;
  /** `received` until all orders are placed, `started` until every key has ended. */
  state: "received" | "started" | "complete" | "partial" | "failed" | "cancelled";
  /** Reason for the current state. */
  error_message?: string;
  /** The key that the keys of the request replace. */
  replaces?: Replacement;
  /** Keys or passkeys that are programmed on site. */
  authenticators?: Array<SecurityKey>;
  /** Present where keys are shipped. */
  shipment?: {
    /** The delivery service's id. Absent until it has taken the order. */
    shipment_id?: string;
    /** The customer's own reference from the create. */
    customer_reference?: string;
    /** How the carrier names the parcel, once the delivery service reports it. */
    tracking?: {
      /** Tracking number. */
      number?: string;
      /** The carrier's page about the parcel. */
      link?: string;
    };
    /** Where the parcel is, once it is shipped. It changes also after the request has ended. */
    delivery?: {
      /** `exception`: the carrier could not deliver the parcel. `unknown`: its end was not reported in 30 days, or the delivery service does not know the shipment any more. */
      state: "in_transit" | "delivered" | "lost" | "exception" | "unknown";
      /** The delivery service's message of a `lost` or `exception`. */
      error_message?: string;
      /** When the connector first read that the parcel was shipped. */
      shipped_at: string;
      /** When the connector first read the state. Absent `in_transit`. */
      ended_at?: string;
    };
    /** Keys that are programmed and shipped. */
    shipment_items: Array<SecurityKey>;
    /** Where the keys go. */
    mailing_address: MailingAddress;
  };
  /** Who gets the PIN emails. Absent without the role `support`, which may resend them. */
  enrollment_contacts?: {
    /** Addresses. */
    emails_to: Array<string>;
  };
};

/** A security key or app passkey of a request. */
export type SecurityKey = {
  /** Names the key within its request. */
  id: string;
  /** Custom name, or `Pre-Reg Key`. */
  name: string;
  /** Serial number, once the key maker or the enrollment reports it. */
  serial_number?: string;
  /** `processing` while any credential is open; `partial`: some are active, some are not. */
  state: "processing" | "complete" | "partial" | "failed" | "cancelled";
  /** In the order of the create. */
  credentials: Array<Credential>;
  /** The latest request whose keys replace this one, unless it failed. */
  replaced_by?: string;
};

/** A credential on a security key, for one user at one identity provider. */
export type Credential = {
  /** The IdP that the credential is for. */
  idp_id: string;
  /** As asked for, then as the IdP has it. */
  relying_party_id?: string;
  /** The user at the relying party. */
  user_id: string;
  /** `activation_pending`: on the key, not yet accepted by the IdP. `revoking`: being removed there. `revoked`: removed. `revoke_failed`: not tried again; revoke it once more. */
  state: "processing" | "activation_pending" | "active" | "failed" | "cancelled" | "revoking" | "revoked" | "revoke_failed";
  /** Until then a failing activation is tried again. */
  retryable_until?: string;
  /** The last error of the activation or of the PIN email. */
  error_message?: string;
  /** Present where the removal at the IdP was asked for. */
  revocation?: {
    /** Why it was asked for. */
    reason: "requested" | "lost" | "replaced" | "offboarded";
    /** When it was asked for. */
    requested_at: string;
    /** When the IdP confirmed the removal. */
    revoked_at?: string;
    /** Attempts that failed. */
    failed_attempts: number;
    /** Why the last attempt failed. */
    error_message?: string;
  };
};

export type MailingAddress = {
  /** Street and number. */
  street_line1: string;
  /** Further line of the street address. */
  street_line2?: string;
  /** Postal code, or a space. */
  postal_code: string;
  /** City. */
  city: string;
  /** Two-letter postal code of the region. */
  region?: string;
  /** ISO 3166-1 alpha-2. */
  country_code: string;
};

export type ListedCredentialRequest = {
  /** Names the request. */
  credential_request_id: string;
  /** The recipient's identifier, where the create named one. */
  external_id?: string;
  /** `received` until all orders are placed, `started` until every key has ended. */
  state: "received" | "started" | "complete" | "partial" | "failed" | "cancelled";
  /** Reason for the current state. */
  error_message?: string;
  /** The key that the keys of the request replace. */
  replaces?: Replacement;
  /** Keys or passkeys that are programmed on site. */
  authenticators?: Array<SecurityKey>;
  /** Present where keys are shipped. */
  shipment?: {
    /** The delivery service's id. Absent until it has taken the order. */
    shipment_id?: string;
    /** The customer's own reference from the create. */
    customer_reference?: string;
    /** How the carrier names the parcel, once the delivery service reports it. */
    tracking?: {
      /** Tracking number. */
      number?: string;
      /** The carrier's page about the parcel. */
      link?: string;
    };
    /** Where the parcel is, once it is shipped. It changes also after the request has ended. */
    delivery?: {
      /** `exception`: the carrier could not deliver the parcel. `unknown`: its end was not reported in 30 days, or the delivery service does not know the shipment any more. */
      state: "in_transit" | "delivered" | "lost" | "exception" | "unknown";
      /** The delivery service's message of a `lost` or `exception`. */
      error_message?: string;
      /** When the connector first read that the parcel was shipped. */
      shipped_at: string;
      /** When the connector first read the state. Absent `in_transit`. */
      ended_at?: string;
    };
    /** Keys that are programmed and shipped. */
    shipment_items: Array<SecurityKey>;
    /** Where the keys go. */
    mailing_address: MailingAddress;
  };
  /** When the request was created. */
  created_at: string;
};

export type RequestEvent = {
  /** Id of the event, as in `webhook-id` of its deliveries. */
  id: string;
  /** Type of the event, such as `fido-connector.request.started`. */
  type: string;
  /** When the connector recorded it. */
  time: string;
  /** Position of the event in its request. */
  sequence: string;
  /** What happened: ids and states, as in the delivered event. */
  data: Record<string, unknown>;
  /** One for each sink that was configured for the type when the event was recorded. */
  deliveries: Array<EventDelivery>;
};

export type EventDelivery = {
  /** Position of the sink in `EVENT_SINK_URLS`, from 1. */
  sink: number;
  /** `pending`: not sent yet, or tried again. `given_up`: failed for `EVENT_RETRY_HOURS`. */
  state: "pending" | "delivered" | "given_up";
  /** When the sink accepted the event. */
  delivered_at?: string;
  /** Failed attempts so far, of an event that is tried again. */
  attempts?: number;
  /** When it is tried again. */
  next_attempt_at?: string;
  /** Why the last attempt failed. */
  error_message?: string;
};

export type EventSink = {
  /** Position of the sink in `EVENT_SINK_URLS`, from 1. */
  sink: number;
  /** `paused` until its `Retry-After` is over; `stopped` since it answered 410 (Gone). */
  state: "active" | "paused" | "stopped";
  /** When a paused sink is called again. */
  paused_until?: string;
  /** When it answered 410. */
  stopped_at?: string;
};

export type RegisteredKey = {
  /** The request. It cannot be read any more after its clean-up. */
  credential_request_id: string;
  /** Names the key within its request. */
  key_id: string;
  /** Serial number, once the key maker or the enrollment reports it. */
  serial_number?: string;
  /** Firmware version, as the key maker or the enrollment reports it. */
  firmware?: string;
  /** The model, from the attestation. Absent until the response is read. */
  aaguid?: string;
  /** Name of the model, for AAGUIDs that the connector knows. */
  model?: string;
  /** The IdP that the credential is for. */
  idp_id: string;
  /** The user at the relying party. */
  user_id: string;
  /** State of the credential. */
  state: "processing" | "activation_pending" | "active" | "failed" | "cancelled" | "revoking" | "revoked" | "revoke_failed";
  /** When the request was created. */
  ordered_at: string;
  /** When the delivery service reported its shipment as delivered. */
  delivered_at?: string;
  /** When the IdP registered the credential. */
  activated_at?: string;
  /** When the IdP confirmed the removal of the credential. */
  revoked_at?: string;
  /** The latest request whose keys replace this one, unless it failed. */
  replaced_by?: string;
};

export type OffboardReport = {
  /** Whether the person can sign in with none of the credentials any more, now or later. */
  is_complete: boolean;
  /** How many of the credentials are the person's. 0: no order has a credential under this name, so check how it is written. */
  matched: number;
  credentials: Array<{
    /** The request; reads answer 404 once it is only in the register. */
    credential_request_id: string;
    /** The key in its request. */
    key_id: string;
    /** Position of the credential on its key. */
    credential: number;
    /** The IdP. */
    idp_id: string;
    /** The user at the IdP. */
    user_id: string;
    /** Serial number of the key, where known. */
    serial_number?: string;
    /** Present state of the credential. */
    state: "processing" | "activation_pending" | "active" | "failed" | "cancelled" | "revoking" | "revoked" | "revoke_failed";
    revocation?: {
      /** Why it was asked for. */
      reason: "requested" | "lost" | "replaced" | "offboarded";
      /** When it was asked for. */
      requested_at: string;
      /** When the IdP confirmed the removal. */
      revoked_at?: string;
      /** Attempts that failed. */
      failed_attempts: number;
      /** Why the last attempt failed. */
      error_message?: string;
    };
    /** What the call did, or in a dry run would do. `none`: nothing is to be done, or see `problem`. */
    action: "cancel" | "revoke" | "none";
    /** Why the credential is left. */
    problem?: string;
  }>;
};

export type ProcessedCredentials = {
  /** Credentials looked at. */
  processed: number;
  /** Of those, now active. */
  activated: number;
  /** Of those, failed for good. */
  failed: number;
  /** Of those, still due. */
  pending: number;
};

/** Credentials on one authenticator that is programmed on site. */
export type CredentialRequestOrderV1 = {
  /** Who gets the authenticator. */
  recipient: {
    /** First name. */
    firstname: string;
    /** Last name. */
    lastname: string;
    /** Also the recipient's unique identifier. */
    email: string;
  };
  /** In the order in which the authenticator gets them. */
  credentials: Array<{
    /** The user, as the identity provider knows them. */
    user_id: string;
  }>;
  /** The PIN of the authenticator. */
  pin_request: {
    /** Least number of PIN characters. */
    min_length?: number;
    /** Generated beforehand and sent by email, or entered at the enrollment on site. */
    entry_method?: "generated" | "user_entered";
  };
  /** Custom name, shown as `<name>: <serial>`. By default `Pre-Reg Key`. */
  authenticator_name?: string;
  /** Customization of the key. */
  customization_id?: string;
  /** Who receives the PIN email. */
  enrollment_contacts: {
    /** The PIN is sent here. Addresses must differ in more than letter case. */
    emails_to: Array<string>;
  };
};

export type CreatedCredentialRequestV1 = {
  data: {
    /** Names the request. */
    credential_request_id: string;
  };
};

/** Keys for one user, programmed and shipped. */
export type ShipmentOrderV1 = {
  /** Object id or user principal name of the user at the IdP. */
  user_id: string;
  /** The PIN to generate. */
  pin_request: {
    type: "generate";
    length: number;
  };
  enrollment_contacts?: {
    /** Addresses that receive the PIN. */
    emails_to?: Array<string>;
  };
  delivery_shipment_request: {
    /** Organization of the channel partner in the delivery service. */
    reseller_organization_id?: string;
    /** 1 standard, 2 expedited. */
    delivery_type: 1 | 2;
    /** Ship without validation of the address. */
    address_validation_bypass: boolean;
    recipient: {
      /** Company, in addition to or instead of a name. */
      recipient_company?: string;
      /** Takes the PIN where `emails_to` is absent. */
      recipient_email: string;
      /** May be blank where the company is given. */
      recipient_firstname: string;
      /** May be blank where the company is given. */
      recipient_lastname: string;
      /** For the carrier only. */
      recipient_telephone: string;
    };
    mailing_address: {
      /** Street and number. */
      street_line1: string;
      /** Further line of the street address. */
      street_line2?: string;
      /** A space, or 00000, where the country has no postal codes. */
      postal_code: string;
      /** City. */
      city: string;
      /** Two-letter postal code of the region. Required in the US, at US military bases and in Canada. */
      region?: string;
      /** ISO 3166-1 alpha-2, in any case. */
      country_code_2: string;
    };
    /** Keys to program and ship. */
    shipment_items: Array<{
      /** Product model of the key. */
      product_id: number;
      /** Subscription that the key is taken from. */
      inventory_product_id: number;
      /** Keys of this kind; each gets a credential and a PIN of its own. */
      product_quantity: number;
      /** Customization of the key. */
      customization_id?: string;
      fc_additional_data?: {
        /** Custom name, shown as `<name>: <serial>`. */
        key_name?: string;
      };
    }>;
  };
};

export type CreatedShipmentV1 = {
  data: {
    /** The delivery service's id. */
    shipment_id: string;
  };
};

export type ShipmentV1 = {
  /** The delivery service's id. */
  shipment_id: string;
  /** `processing` while a run works on the shipment at this moment. */
  shipment_state: "ongoing" | "complete" | "pending_pin_sending" | "processing";
  /** Only after a processing error. */
  error_kind?: "GENERAL";
  /** Detail from the delivery service or the IdP. */
  error_message?: string;
};

export type CredentialRequestV1 = {
  /** Names the request. */
  credential_request_id: string;
  /** State of the whole request. */
  credential_request_state: "received" | "started" | "complete" | "partial" | "failed" | "cancelled";
  /** Every credential of the request. */
  credentials: Array<CredentialV1>;
};

export type CredentialV1 = {
  /** The user at the identity provider. */
  user_id: string;
  /** As the IdP has it. */
  relying_party_id?: string;
  /** The IdP that the credential is for. */
  idp_id: string;
  /** State of the credential. */
  credential_state: "processing" | "activation_pending" | "active" | "failed" | "cancelled" | "revoking" | "revoked" | "revoke_failed";
};

export type NewApiToken = {
  /** Names the token, for example to revoke it. */
  id: string;
  /** Name of the application that uses the token. */
  name: string;
  /** When the token was created, ISO 8601. */
  created_at: string;
  /** The token is accepted before this time. Absent: until it is revoked. */
  expires_at?: string;
  /** What the token may do. Absent: everything. */
  role?: "read" | "support" | "import" | "admin" | "call";
  /** The last day, in UTC, on which the token was accepted. Absent: it was never used. */
  last_used_on?: string;
  /** The token. It is shown only once. */
  token: string;
};

export type ApiToken = {
  /** Names the token, for example to revoke it. */
  id: string;
  /** Name of the application that uses the token. */
  name: string;
  /** When the token was created, ISO 8601. */
  created_at: string;
  /** The token is accepted before this time. Absent: until it is revoked. */
  expires_at?: string;
  /** What the token may do. Absent: everything. */
  role?: "read" | "support" | "import" | "admin" | "call";
  /** The last day, in UTC, on which the token was accepted. Absent: it was never used. */
  last_used_on?: string;
};

export type Caller = {
  /** Whether the token is of the tenant, or a static API token. */
  kind: "tenant" | "api_token";
  /** Id of the application, or of the static API token. */
  application: string;
  /** Whom the token of the tenant was issued for. */
  subject?: string;
  /** What the token may do, with the roles that a role includes. */
  roles: Array<"read" | "support" | "import" | "admin" | "call">;
};

