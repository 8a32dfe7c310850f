import * as z from "zod";
import { withControlBody } from "../control-body.ts";
import type { PeerAnswer, PeerCall } from "../peer.ts";
import { METHOD_IDS } from "./methods.ts";
import { ACCOUNT_STATUSES, type AccountStatus } from "./users.ts";

interface EntraRegistration {
  readonly userId: string;
  readonly credentialId: string;
  readonly displayName: string;
}

const settings = z.strictObject({
  expiresIn: z.int().nonnegative().optional(),
  methodIds: z.enum(METHOD_IDS).optional(),
});
const user = z.strictObject({ accountStatus: z.enum(ACCOUNT_STATUSES) });

/** What a test or a user of the local system can do with the tenant, also by calls under `/_control/`. */
export interface EntraControls {
  /** Returns the registered keys, oldest first. */
  registrations(): readonly EntraRegistration[];
  /** Expires every issued challenge. */
  expireChallenges(): void;
  /** Revokes every issued access token. */
  revokeTokens(): void;
  /** `expiresIn`: lifetime of new access tokens in seconds; `methodIds`: the ids with which keys are listed. */
  settings(changed: z.input<typeof settings>): void;
  setUser(userId: string, accountStatus: AccountStatus): void;
}

/** Returns the `/_control/` routes of {@link EntraControls}. */
export function entraControlRoutes(
  controls: EntraControls,
  { method, path, body }: PeerCall,
): PeerAnswer | undefined | Promise<PeerAnswer> {
  const done = { status: 204 };
  const [, userId] = path.match(/^\/_control\/users\/([^/]+)$/) ?? [];
  if (method === "POST" && userId !== undefined)
    return withControlBody(user, body, ({ accountStatus }) => {
      controls.setUser(userId, accountStatus);
      return done;
    });
  switch (`${method} ${path}`) {
    case "GET /_control/registrations":
      return { status: 200, body: controls.registrations() };
    case "POST /_control/expire-challenges":
      controls.expireChallenges();
      return done;
    case "POST /_control/revoke-tokens":
      controls.revokeTokens();
      return done;
    case "POST /_control/settings":
      return withControlBody(settings, body, changed => {
        controls.settings(changed);
        return done;
      });
    default:
      return undefined;
  }
}
