import * as z from "zod";
import { withControlBody } from "../control-body.ts";
import type { PeerAnswer, PeerCall } from "../peer.ts";
import { PING_ACCOUNT_STATUSES, type PingAccountStatus } from "./users.ts";

interface PingRegistration {
  /** The name by which the user was looked up. */
  readonly userId: string;
  readonly credentialId: string;
  readonly displayName: string;
}

const user = z.strictObject({ accountStatus: z.enum(PING_ACCOUNT_STATUSES) });

/** What a test or a user of the local system can do with each of Ping's products, also by calls under `/_control/`. */
export interface PingControls<S> {
  /** Returns the registered keys, of one user if a name is given, oldest first. */
  registrations(userId?: string): readonly PingRegistration[];
  /** Expires every issued challenge. */
  expireChallenges(): void;
  /** Revokes every issued access token. */
  revokeTokens(): void;
  settings(changed: S): void;
  setUser(userId: string, accountStatus: PingAccountStatus): void;
}

/** Returns the `/_control/` routes of {@link PingControls}. */
export function pingControlRoutes<S extends z.ZodType>(
  controls: PingControls<z.input<S>>,
  settings: S,
  { method, path, query, body }: PeerCall,
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
      return { status: 200, body: controls.registrations(query.get("user_id") ?? undefined) };
    case "POST /_control/expire-challenges":
      controls.expireChallenges();
      return done;
    case "POST /_control/revoke-tokens":
      controls.revokeTokens();
      return done;
    case "POST /_control/settings":
      return withControlBody(settings, body, changed => {
        controls.settings(changed as z.input<S>);
        return done;
      });
    default:
      return undefined;
  }
}
