import type { LocalKind, RemoteKind } from "./contract.ts";
import { hotp, totp } from "./oath.ts";
import { remote } from "./remote.ts";
import { yubico } from "./yubico.ts";

type OtpKind = LocalKind | RemoteKind;

/** All kinds of OTP keys, by their names in the API and in storage (A7). */
export const otpKinds = { hotp, totp, yubico, remote } satisfies Readonly<Record<string, OtpKind>>;

export type OtpKindName = keyof typeof otpKinds;

export const otpKindNames = Object.keys(otpKinds) as [OtpKindName, ...OtpKindName[]];

export const otpKind = (name: OtpKindName): OtpKind => otpKinds[name];
