import { type Instant, instant, parseUtc } from "../../../lib/platform/time.ts";
import type { ImportKey } from "./check-key.ts";
import { element, elements, textAt, type XmlElement } from "./xml.ts";

/** Returns the times of this name in the key's policy and in its device, in milliseconds since 1970; NaN for a malformed one. */
const timesOf = (keyPackage: XmlElement, name: "StartDate" | "ExpiryDate"): readonly number[] =>
  [element(keyPackage, "Key", "Policy"), element(keyPackage, "DeviceInfo")]
    .map(parent => textAt(parent, name))
    .filter(text => text !== "")
    .map(parseUtc);

const startOf = (keyPackage: XmlElement): number => Math.max(...timesOf(keyPackage, "StartDate"));
const endOf = (keyPackage: XmlElement): number => Math.min(...timesOf(keyPackage, "ExpiryDate"));

/** Returns the time in which both the policy of a key and its device allow its use. */
export function validityOf(keyPackage: XmlElement): Pick<ImportKey, "validFrom" | "validUntil"> {
  const [start, end] = [startOf(keyPackage), endOf(keyPackage)];
  return {
    ...(Number.isFinite(start) && { validFrom: instant(start) }),
    ...(Number.isFinite(end) && { validUntil: instant(end) }),
  };
}

/** Returns why the key's policy forbids its import now or its use for OTPs (RFC 6030 section 5), or undefined. */
export function notUsable(keyPackage: XmlElement, now: Instant): string | undefined {
  const policy = element(keyPackage, "Key", "Policy");
  const [start, end] = [startOf(keyPackage), endOf(keyPackage)];
  if (Number.isNaN(start) || Number.isNaN(end)) return "its StartDate or ExpiryDate is malformed";
  if (end <= Date.parse(now)) return "it has expired";
  if (end <= start) return "it expires before it may be used";
  // In the other modes the user types the PIN with the OTP, or it is part of the computation.
  if (!/^(Local)?$/.test(textAt(policy, "PINPolicy", "@PINUsageMode"))) return "its OTPs depend on a PIN";
  const usages = elements(policy, "KeyUsage").map(usage => textAt(usage));
  return usages.length === 0 || usages.includes("OTP") ? undefined : "it is not meant for OTPs";
}
