import * as z from "zod";
import { withBody } from "../control.ts";
import { type HttpAnswer, type HttpCall, type PeerPlace, startPeer } from "../peer.ts";
import { openState, type State } from "../state-file.ts";
import { ACCOUNT_STATUSES, type Accounts, type AccountsState, createAccounts, folded } from "./accounts.ts";
import { createIdpTokens, type IdpClient, type IdpTokens, type TokenRules, type TokensState } from "./tokens.ts";

export interface IdpOptions extends IdpClient, PeerPlace {
  /** PEM of the only key maker that the IdP trusts. */
  readonly attestationRoot: string;
}

/** A registered key. */
interface Registration {
  /** The name of the user. */
  readonly userId: string;
  readonly credentialId: string;
  readonly displayName: string;
}

/** What all kinds of simulated IdPs have in common. */
interface Idp<KindState, Settings> {
  readonly file: State<KindState & TokensState & AccountsState>;
  readonly tokens: IdpTokens;
  readonly accounts: Accounts;
  /** Changed in place by control calls. */
  readonly chosen: Settings;
}

/** What a kind of simulated IdP adds. */
interface IdpKind<KindState, Settings> {
  readonly name: string;
  /** The state besides tokens and accounts. */
  readonly empty: KindState;
  /** The settings at the start, of which a control call changes some. */
  readonly settings: Settings;
  readonly changes: z.ZodType<Changes<Settings>>;
  readonly tokenPath: string;
  readonly tokenRules: TokenRules;
  open(idp: Idp<KindState, Settings>): {
    /** Returns the registered keys, oldest first. */
    registrations(): readonly Registration[];
    /** Expires every issued challenge. */
    expireChallenges(): void;
    /** Handles every call but that of the token endpoint. */
    handle(call: HttpCall): HttpAnswer | undefined | Promise<HttpAnswer | undefined>;
  };
}

type Changes<Settings> = { readonly [K in keyof Settings]?: Settings[K] | undefined };

/** A change of a user's account status or name. */
const user = z.strictObject({ accountStatus: z.enum(ACCOUNT_STATUSES), name: z.string().min(1) }).partial();

/** Starts a simulated IdP: its token endpoint and its API, both under `url`. Its controls can be called under `/_control/` too. */
export async function startIdp<KindState extends object, Settings extends { readonly expiresIn: number }>(
  options: IdpOptions,
  kind: IdpKind<KindState, Settings>,
) {
  const empty = { ...kind.empty, tokens: {}, accounts: {}, renamed: [] };
  const file = openState<KindState & TokensState & AccountsState>(options.statePath, empty);
  const chosen = { ...kind.settings };
  const tokens = createIdpTokens(options, file, kind.tokenRules, () => chosen.expiresIn);
  const accounts = createAccounts(file);
  const { registrations, expireChallenges, handle } = kind.open({ file, tokens, accounts, chosen });
  const controls = {
    /** Returns the registered keys, of one user if a name is given, oldest first. */
    registrations: (of?: string) =>
      registrations().filter(({ userId }) => of === undefined || folded(userId) === folded(of)),
    expireChallenges,
    /** Revokes every issued access token. */
    revokeTokens: tokens.revokeAll,
    settings: (changed: Changes<Settings>) => void Object.assign(chosen, changed),
    setUser: accounts.set,
    renameUser: accounts.rename,
  };
  const peer = await startPeer(kind.name, {
    port: options.port,
    handle: call => (call.method === "POST" && call.path === kind.tokenPath ? tokens.grant(call) : handle(call)),
    control: {
      "GET registrations": ({ query }) => controls.registrations(query.get("user_id") ?? undefined),
      "POST expire-challenges": expireChallenges,
      "POST revoke-tokens": tokens.revokeAll,
      "POST settings": withBody(kind.changes, controls.settings),
      "POST users/:id": withBody(user, ({ accountStatus, name }, id) => {
        if (accountStatus !== undefined) accounts.set(id, accountStatus);
        if (name !== undefined) accounts.rename(id, name);
      }),
    },
  });
  return { ...peer, ...controls };
}
