import * as z from "zod";
import { withControlBody } from "../control-body.ts";
import type { HttpAnswer, HttpCall } from "../peer.ts";
import { ACCOUNT_STATUSES, type AccountStatus } from "./accounts.ts";

interface IdpRegistration {
  /** The name by which the user was looked up. */
  readonly userId: string;
  readonly credentialId: string;
  readonly displayName: string;
}

const user = z.strictObject({ accountStatus: z.enum(ACCOUNT_STATUSES) });

/** What a test or a user of the local system can do with a simulated IdP, also by calls under `/_control/`. */
export interface IdpControls<Settings> {
  /** Returns the registered keys, of one user if a name is given, oldest first. */
  registrations(userId?: string): readonly IdpRegistration[];
  /** Expires every issued challenge. */
  expireChallenges(): void;
  /** Revokes every issued access token. */
  revokeTokens(): void;
  settings(changed: Settings): void;
  setUser(userId: string, accountStatus: AccountStatus): void;
}

/** Returns the `/_control/` routes of {@link IdpControls}. */
export function idpControlRoutes<S extends z.ZodType>(
  controls: IdpControls<z.input<S>>,
  settings: S,
  { method, path, query, body }: HttpCall,
): HttpAnswer | undefined | Promise<HttpAnswer> {
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
