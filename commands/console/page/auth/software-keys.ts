import { ask } from "../calls.ts";

/** A key whose secret the console's server created and keeps. */
export interface SoftwareKey {
  readonly prefix: string;
  readonly kind: string;
  readonly digits: number;
}

export interface Otp {
  readonly otp: string;
  readonly leftMs?: number;
  readonly given?: boolean;
}

export const softwareKeys = (signal?: AbortSignal): Promise<readonly SoftwareKey[]> =>
  ask("GET", "keys", signal && { signal });

/** A deployment has none. */
export const noSoftwareKeys = async (): Promise<readonly SoftwareKey[]> => [];

/** Returns what the key shows next. A code of an event or of a Yubico key is made once. */
export const nextOtp = (prefix: string): Promise<Otp> => ask("POST", `keys/${prefix}/next`);

/** Says how long a code is good for, if that is limited. */
export const remarkOf = ({ leftMs, given }: Otp): string =>
  leftMs === undefined
    ? ""
    : `${given ? "Given before, so it passes no more. The next one" : "The next code"} comes in ${Math.ceil(leftMs / 1000)} s.`;
