import { randomBytes, randomUUID } from "node:crypto";
import { verifyAttestation } from "../security-key/authenticator-verify.ts";
import type { State } from "../state-file.ts";
import { readActivation } from "./activation.ts";
import { invalid, notFound, tooManyDevices } from "./errors.ts";
import type { PingOneSettings } from "./settings.ts";

interface Device {
  readonly id: string;
  readonly userId: string;
  readonly rp: { readonly id: string; readonly name: string };
  readonly policyId: string;
  readonly createdAt: string;
  updatedAt: string;
  /** base64url */
  readonly challenge: string;
  /** In ms since 1970; applies until the device is active. */
  expiresAt: number;
  nickname?: string;
  /** Present if the device is active. */
  credentialId?: string;
}

export interface PingOneDevicesState {
  readonly devices: Device[];
}

export type PingOneDevices = ReturnType<typeof createPingOneDevices>;

interface User {
  readonly id: string;
  readonly name: string;
}

const DEFAULT_POLICY = "b1d4c3a2-6f5e-4c7d-8a9b-0c1d2e3f4a5b";
const ENVIRONMENT = "0b6e1c1e-52a0-4e0c-8f0d-6a4f3f1c2d55";
const link = ({ id, userId }: Device, rest: string) =>
  `https://api.pingone.example/v1/environments/${ENVIRONMENT}/users/${userId}/devices/${id}${rest}`;
const LIFE_MS = 30 * 86_400_000;

export function createPingOneDevices(
  file: State<PingOneDevicesState>,
  attestationRoot: string,
  chosen: PingOneSettings,
) {
  const { devices } = file.value;
  const of = (userId: string) => devices.filter(device => device.userId === userId);
  const one = (userId: string, deviceId: string) => {
    const found = of(userId).find(({ id }) => id === deviceId);
    if (found === undefined) throw notFound();
    return found;
  };
  const refuseUnlessPending = (device: Device, credentialId: string) => {
    if (device.credentialId !== undefined) throw invalid("status", "The device is active already.");
    if (device.expiresAt <= Date.now()) throw invalid("attestation", "The challenge has expired.");
    if (devices.some(other => other.credentialId === credentialId))
      throw invalid("attestation", "The credential is registered already.");
  };

  return {
    begin: (
      user: User,
      { rp, nickname, policyId }: Pick<Device, "rp" | "nickname"> & { readonly policyId?: string | undefined },
    ) => {
      const { maxDevices, bytes, policyRequired } = chosen;
      if (policyRequired && policyId === undefined) throw invalid("policy", "The policy is required.");
      if (of(user.id).length >= maxDevices) throw tooManyDevices();
      const challenge = randomBytes(32).toString("base64url");
      const at = new Date().toISOString();
      const device: Device = {
        id: randomUUID(),
        userId: user.id,
        rp,
        policyId: policyId ?? DEFAULT_POLICY,
        ...(nickname !== undefined && { nickname }),
        createdAt: at,
        updatedAt: at,
        challenge,
        expiresAt: Date.now() + LIFE_MS,
      };
      const taken = of(user.id).flatMap(({ credentialId }) => credentialId ?? []);
      devices.push(device);
      file.save();
      const options = optionsOf(device, user, taken, bytes);
      return { ...view(device), publicKeyCredentialCreationOptions: JSON.stringify(options) };
    },
    activate: async (userId: string, deviceId: string, body: Buffer) => {
      const device = one(userId, deviceId);
      const { id, origin, clientDataJSON, attestationObject } = readActivation(body);
      if (!isOriginOf(device.rp.id, origin)) throw invalid("origin", "The origin is not one of the relying party.");
      await verifyAttestation({
        ...{ id, origin, clientDataJSON, attestationObject },
        challenge: device.challenge,
        rpId: device.rp.id,
        root: attestationRoot,
      }).catch((error: unknown) => {
        throw invalid("attestation", (error as Error).message);
      });
      // Checked after the wait, because another call may have been faster.
      refuseUnlessPending(one(userId, deviceId), id);
      device.credentialId = id;
      device.updatedAt = new Date().toISOString();
      file.save();
      return view(device);
    },
    rename: (userId: string, deviceId: string, nickname: string) => {
      const device = one(userId, deviceId);
      device.nickname = nickname;
      device.updatedAt = new Date().toISOString();
      file.save();
      return view(device);
    },
    one: (userId: string, deviceId: string) => view(one(userId, deviceId)),
    of: (userId: string) => of(userId).map(view),
    remove: (userId: string, deviceId: string) => {
      devices.splice(devices.indexOf(one(userId, deviceId)), 1);
      file.save();
    },
    active: () =>
      devices.flatMap(({ userId, credentialId, nickname = "" }) =>
        credentialId === undefined ? [] : { userId, credentialId, displayName: nickname },
      ),
    expireChallenges: () => {
      for (const device of devices) device.expiresAt = 0;
      file.save();
    },
  };
}

function isOriginOf(rpId: string, origin: string): boolean {
  const url = URL.parse(origin);
  return url?.protocol === "https:" && url.origin === origin && `.${url.hostname}`.endsWith(`.${rpId}`);
}

const view = (device: Device) => ({
  id: device.id,
  user: { id: device.userId },
  type: "FIDO2",
  status: device.credentialId === undefined ? "ACTIVATION_REQUIRED" : "ACTIVE",
  rp: device.rp,
  nickname: device.nickname,
  _links: {
    self: { href: link(device, "") },
    "device.activate": { href: link(device, "") },
    "device.nickname": { href: link(device, "/nickname") },
  },
  environment: { id: ENVIRONMENT },
  policy: { id: device.policyId },
  createdAt: device.createdAt,
  updatedAt: device.updatedAt,
});

function optionsOf({ rp, challenge }: Device, user: User, taken: readonly string[], bytes: PingOneSettings["bytes"]) {
  const written = (base64url: string) => {
    const value = Buffer.from(base64url, "base64url");
    return bytes === "signed" ? [...new Int8Array(value)] : value.toString("base64");
  };
  return {
    rp,
    user: {
      id: written(Buffer.from(user.id.replaceAll("-", ""), "hex").toString("base64url")),
      name: user.name,
      displayName: user.name,
    },
    challenge: written(challenge),
    pubKeyCredParams: ["-7", "-37", "-257"].map(alg => ({ type: "public-key", alg })),
    timeout: 120_000,
    excludeCredentials: taken.map(id => ({ id: written(id), type: "public-key" })),
    authenticatorSelection: {
      authenticatorAttachment: "cross-platform",
      residentKey: "preferred",
      requireResidentKey: false,
      userVerification: "required",
    },
    attestation: "direct",
    extensions: { credProps: true },
  };
}
