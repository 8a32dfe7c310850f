import type { LocalKind, RemoteKind } from "./contract.ts";
import { hotp, totp } from "./oath.ts";
import { remote } from "./remote.ts";
import { yubico } from "./yubico.ts";

export type OtpKindName = "hotp" | "totp" | "yubico" | "remote";

/** All kinds of OTP keys, by their names in the API and in storage (A7). */
export const otpKinds: Readonly<Record<OtpKindName, LocalKind | RemoteKind>> = { hotp, totp, yubico, remote };

export const otpKindNames = Object.keys(otpKinds) as [OtpKindName, ...OtpKindName[]];
