import * as z from "zod";
import { withControlBody } from "../control-body.ts";
import type { PeerAnswer, PeerCall } from "../peer.ts";
import { METHOD_IDS } from "./methods.ts";
import { STANDINGS, type Standing } from "./users.ts";

interface EntraRegistration {
  readonly userId: string;
  readonly credentialId: string;
  readonly displayName: string;
}

const settings = z.strictObject({
  expiresIn: z.int().nonnegative().optional(),
  methodIds: z.enum(METHOD_IDS).optional(),
});
const user = z.strictObject({ standing: z.enum(STANDINGS) });

/** What a test or an operator can do to the tenant; the same goes under `/_control/`. */
export interface EntraControls {
  /** Oldest first. */
  registrations(): readonly EntraRegistration[];
  /** Every challenge that is out is refused from now on. */
  expireChallenges(): void;
  /** Every access token that is out is refused from now on. */
  revokeTokens(): void;
  /** `expiresIn`: life of new access tokens in seconds; `methodIds`: what keys are listed under. */
  settings(changed: z.input<typeof settings>): void;
  setUser(userId: string, standing: Standing): void;
}

/** The routes of {@link EntraControls}. */
export function entraControlRoutes(
  controls: EntraControls,
  { method, path, body }: PeerCall,
): PeerAnswer | undefined | Promise<PeerAnswer> {
  const done = { status: 204 };
  const [, userId] = path.match(/^\/_control\/users\/([^/]+)$/) ?? [];
  if (method === "POST" && userId !== undefined)
    return withControlBody(user, body, ({ standing }) => {
      controls.setUser(userId, standing);
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
