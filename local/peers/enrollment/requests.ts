import { isDeepStrictEqual } from "node:util";
import type * as z from "zod";
import type { Sabotage } from "../delivery/view.ts";
import {
  type CredentialRequest,
  credentialRequest,
  openRequest,
  type PinRequest,
  pinRequest,
  type ResponseKey,
  wrongFields,
} from "../security-key/exchange-format.ts";
import type { KeyMaker } from "../security-key/key-maker.ts";
import { openingKeys } from "../security-key/keyring.ts";
import type { State } from "../state-file.ts";
import { EnrollmentError, type RequestBody, requestBody } from "./wire.ts";

/** The result of a request; members as in the contract. */
export type End =
  | { readonly state: "cancelled" | "failed"; readonly errorMessage?: string | undefined }
  | {
      readonly state: "completed";
      readonly serialNumber?: string | undefined;
      readonly firmwareVersion?: string | undefined;
      readonly pinResponse?: string | undefined;
      readonly credentialResponses: readonly (string | null)[];
      readonly errorMessage?: string | undefined;
      readonly credentialIds: readonly (string | null)[];
      /** The PIN that the agent keeps showing to the user. */
      readonly shownPin?: string | undefined;
    };

/** A request for an authenticator, as the API stores it. */
export interface AuthenticatorRequest {
  readonly id: string;
  readonly tenant: string;
  /** The original body, to recognise a repeated call. */
  readonly content: unknown;
  readonly wish: Omit<RequestBody, "pin_request" | "credential_requests">;
  /** Decrypted. */
  readonly pin?: PinRequest | undefined;
  readonly credentials: readonly CredentialRequest[];
  /** In ms since 1970. */
  expiresAt: number;
  end?: End;
  sabotage?: Sabotage;
}

export interface RfprState {
  nextSerial: number;
  readonly requests: Record<string, AuthenticatorRequest>;
  /** When an id was deleted, in ms since 1970. */
  readonly deleted: Record<string, number>;
}

/** The stored requests. All functions reject with `EnrollmentError`. */
export interface AuthenticatorRequests {
  /** Decrypts every request in `content`. Returns whether it is new. */
  put(tenant: string, id: string, content: unknown): Promise<{ readonly created: boolean } & Found>;
  find(tenant: string, id: string): AuthenticatorRequest;
  /** Oldest first. */
  all(tenant: string): readonly AuthenticatorRequest[];
  /** Ends a waiting request. Does nothing if it has ended already. */
  end(request: AuthenticatorRequest, end: End): void;
  /** Deletes a request; its id is not accepted again. */
  remove(tenant: string, id: string): void;
  /** Removes a request, as if it had never been created. */
  forget(request: AuthenticatorRequest): void;
}

interface Found {
  readonly request: AuthenticatorRequest;
}

/** Longer than the 30 days of the contract. */
const REMEMBERED_MS = 60 * 86_400_000;

export const stateOf = ({ end }: AuthenticatorRequest) => end?.state ?? "waiting";

export function createAuthenticatorRequests(file: State<RfprState>, { keyring }: KeyMaker): AuthenticatorRequests {
  const { requests, deleted } = file.value;
  const keyOf = (tenant: string, id: string) => `${tenant} ${id}`;

  /** Fails a waiting request that has expired. */
  const upToDate = (request: AuthenticatorRequest) => {
    if (request.end === undefined && request.expiresAt <= Date.now()) {
      request.end = { state: "failed", errorMessage: "The time to enroll it is over." };
      file.save();
    }
    return request;
  };
  const lookUp = (tenant: string, id: string) => {
    const key = keyOf(tenant, id);
    if (Object.hasOwn(deleted, key)) throw new EnrollmentError("gone", `${id} was deleted`);
    const known = Object.hasOwn(requests, key) ? requests[key] : undefined;
    return known && upToDate(known);
  };
  const sameContent = (known: AuthenticatorRequest, content: unknown) => {
    if (!isDeepStrictEqual(known.content, content))
      throw new EnrollmentError("conflict", `${known.id} has another content`);
    return { created: false, request: known };
  };

  return {
    put: async (tenant, id, content) => {
      const known = lookUp(tenant, id);
      if (known !== undefined) return sameContent(known, content);
      const made = await opened({ tenant, id, content, keys: openingKeys(keyring) });
      // Another call may have changed or deleted it meanwhile.
      const other = lookUp(tenant, id);
      if (other !== undefined) return sameContent(other, content);
      requests[keyOf(tenant, id)] = made;
      file.save();
      return { created: true, request: upToDate(made) };
    },
    find: (tenant, id) => {
      const known = lookUp(tenant, id);
      if (known === undefined) throw new EnrollmentError("not_found", `there is no ${id}`);
      return known;
    },
    all: tenant =>
      Object.values(requests)
        .filter(request => request.tenant === tenant)
        .map(upToDate),
    end: (request, end) => {
      const found = lookUp(request.tenant, request.id);
      if (found === undefined) throw new EnrollmentError("not_found", `there is no ${request.id}`);
      if (stateOf(found) !== "waiting")
        throw new EnrollmentError("conflict", `${request.id} is ${stateOf(found)} already`);
      found.end = end;
      file.save();
    },
    remove: (tenant, id) => {
      const now = Date.now();
      for (const [key, at] of Object.entries(deleted)) if (at + REMEMBERED_MS <= now) delete deleted[key];
      delete requests[keyOf(tenant, id)];
      deleted[keyOf(tenant, id)] = now;
      file.save();
    },
    forget: ({ tenant, id }) => {
      delete requests[keyOf(tenant, id)];
      file.save();
    },
  };
}

async function opened({
  tenant,
  id,
  content,
  keys,
}: {
  readonly tenant: string;
  readonly id: string;
  readonly content: unknown;
  readonly keys: ReturnType<typeof openingKeys>;
}): Promise<AuthenticatorRequest> {
  const parsed = requestBody.safeParse(content);
  if (!parsed.success) throw new EnrollmentError("validation_error", wrongFields(parsed.error));
  const { pin_request, credential_requests, ...wish } = parsed.data;
  const open = async <S extends z.ZodType>(schema: S, jwe: string, field: string) => {
    try {
      return await openRequest(schema, jwe, keys);
    } catch (error) {
      throw new EnrollmentError("validation_error", `${field}: ${(error as Error).message}`);
    }
  };
  const credentials = await Promise.all(
    credential_requests.map((jwe, at) => open(credentialRequest, jwe, `credential_requests.${at}`)),
  );
  const pin = pin_request === undefined ? undefined : await open(pinRequest, pin_request, "pin_request");
  if (pin !== undefined && pin.pin.length !== wish.pin?.min_length)
    throw new EnrollmentError("validation_error", "pin_request: its length is not pin.min_length");
  refuseSharedKeys([...credentials, ...(pin === undefined ? [] : [pin])].map(({ response_key }) => response_key));
  return { id, tenant, content, wish, pin, credentials, expiresAt: Date.parse(wish.expires_at) };
}

/** Returns one response key for each credential and PIN (docs/peers/exchange-format.md). */
function refuseSharedKeys(keys: readonly ResponseKey[]): void {
  for (const member of ["x", "kid"] as const)
    if (new Set(keys.map(key => key[member])).size < keys.length)
      throw new EnrollmentError("validation_error", "two requests have one response key");
}
