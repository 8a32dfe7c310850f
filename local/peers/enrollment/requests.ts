import { isDeepStrictEqual } from "node:util";
import { wrongFields } from "../read-body.ts";
import { codedRefusal } from "../refusal.ts";
import { type KeyRequests, openRequests, type ResponseKey } from "../security-key/exchange-format.ts";
import type { KeyMaker } from "../security-key/key-maker.ts";
import { openingKeys } from "../security-key/keyring.ts";
import type { KeyResponses, Sabotage } from "../security-key/sabotage.ts";
import type { State } from "../state-file.ts";
import { type RequestBody, requestBody } from "./wire.ts";

/** The result of a request; members as in the contract. */
export type End =
  | { readonly state: "cancelled" | "failed"; readonly errorMessage?: string | undefined }
  | {
      readonly state: "completed";
      readonly serialNumber?: string | undefined;
      readonly firmwareVersion?: string | undefined;
      readonly responses: KeyResponses;
      readonly errorMessage?: string | undefined;
      readonly credentialIds: readonly (string | null)[];
      /** The PIN that the agent keeps showing to the user. */
      readonly shownPin?: string | undefined;
    };

/** A request for an authenticator, as the API stores it, with its decrypted requests. */
export interface AuthenticatorRequest extends KeyRequests {
  readonly id: string;
  /** The original body, to recognise a repeated call. */
  readonly content: unknown;
  readonly wish: Omit<RequestBody, "pin_request" | "credential_requests">;
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

export type AuthenticatorRequests = ReturnType<typeof createAuthenticatorRequests>;

/** Longer than the 30 days of the contract. */
const REMEMBERED_MS = 60 * 86_400_000;

export const stateOf = ({ end }: AuthenticatorRequest) => end?.state ?? "waiting";

export function createAuthenticatorRequests(file: State<RfprState>, { keyring }: KeyMaker) {
  const { requests, deleted } = file.value;

  /** Fails a waiting request that has expired. */
  const upToDate = (request: AuthenticatorRequest) => {
    if (request.end === undefined && request.expiresAt <= Date.now()) {
      request.end = { state: "failed", errorMessage: "The time to enroll it is over." };
      file.save();
    }
    return request;
  };
  const lookUp = (id: string) => {
    if (Object.hasOwn(deleted, id)) throw codedRefusal("gone", `${id} was deleted`);
    const known = Object.hasOwn(requests, id) ? requests[id] : undefined;
    return known && upToDate(known);
  };
  const sameContent = (known: AuthenticatorRequest, content: unknown) => {
    if (!isDeepStrictEqual(known.content, content)) throw codedRefusal("conflict", `${known.id} has another content`);
    return { created: false, request: known };
  };

  return {
    /** Decrypts every request in `content`. Returns whether it is new. */
    put: async (id: string, content: unknown) => {
      const known = lookUp(id);
      if (known !== undefined) return sameContent(known, content);
      const made = { id, ...(await opened(content, openingKeys(keyring))) };
      // Another call may have changed or deleted it meanwhile.
      const other = lookUp(id);
      if (other !== undefined) return sameContent(other, content);
      requests[id] = made;
      file.save();
      return { created: true, request: upToDate(made) };
    },
    find: (id: string) => {
      const known = lookUp(id);
      if (known === undefined) throw codedRefusal("not_found", `there is no ${id}`);
      return known;
    },
    /** Returns the requests, oldest first. */
    all: () => Object.values(requests).map(upToDate),
    /** Ends a waiting request. */
    end: (request: AuthenticatorRequest, end: End) => {
      const found = lookUp(request.id);
      if (found === undefined) throw codedRefusal("not_found", `there is no ${request.id}`);
      if (stateOf(found) !== "waiting") throw codedRefusal("conflict", `${request.id} is ${stateOf(found)} already`);
      found.end = end;
      file.save();
    },
    /** Deletes a request; its id is not accepted again. */
    remove: (id: string) => {
      const now = Date.now();
      for (const [key, at] of Object.entries(deleted)) if (at + REMEMBERED_MS <= now) delete deleted[key];
      delete requests[id];
      deleted[id] = now;
      file.save();
    },
    /** Removes a request, as if it had never been created. */
    forget: ({ id }: AuthenticatorRequest) => {
      delete requests[id];
      file.save();
    },
  };
}

async function opened(content: unknown, keys: ReturnType<typeof openingKeys>) {
  const parsed = requestBody.safeParse(content);
  if (!parsed.success) throw codedRefusal("validation_error", wrongFields(parsed.error));
  const { pin_request, credential_requests, ...wish } = parsed.data;
  const requests = await openRequests("", { credentials: credential_requests, pin: pin_request }, keys);
  const { credentials, pin } = requests;
  if (pin !== undefined && pin.pin.length !== wish.pin?.min_length)
    throw codedRefusal("validation_error", "pin_request: its length is not pin.min_length");
  refuseSharedKeys([...credentials, ...(pin === undefined ? [] : [pin])].map(({ response_key }) => response_key));
  return { content, wish, ...requests, expiresAt: Date.parse(wish.expires_at) };
}

/** Returns one response key for each credential and PIN (docs/peers/exchange-format.md). */
function refuseSharedKeys(keys: readonly ResponseKey[]): void {
  for (const member of ["x", "kid"] as const)
    if (new Set(keys.map(key => key[member])).size < keys.length)
      throw codedRefusal("validation_error", "two requests have one response key");
}
