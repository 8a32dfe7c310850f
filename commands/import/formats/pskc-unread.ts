import { element, elements, type XmlElement } from "./xml.ts";

/** Enough for every name of RFC 6030; a file could have one of megabytes. */
const maxNameLength = 40;

/** The members of each element that are read, or that neither carry state nor change the codes (RFC 6030 section 4). */
const knownMembers = {
  KeyPackage: ["DeviceInfo", "CryptoModuleInfo", "Key"],
  Key: ["Issuer", "AlgorithmParameters", "KeyProfileId", "KeyReference", "FriendlyName", "Data", "UserId", "Policy"],
  AlgorithmParameters: ["Suite", "ResponseFormat"],
  Data: ["Secret", "Counter", "Time", "TimeInterval", "TimeDrift"],
  // Section 5 forbids the use of a key whose policy has more than its reader understands.
  Policy: ["StartDate", "ExpiryDate", "KeyUsage", "PINPolicy"],
} as const;
/** Elements that may occur more than once. */
const repeatable = ["KeyUsage", "FriendlyName"];

/** Returns why an element of a key has members that are not read, or undefined. */
function unreadMember(name: keyof typeof knownMembers, parent: XmlElement | undefined): string | undefined {
  const known: readonly string[] = knownMembers[name];
  const members = Object.keys(parent ?? {}).filter(member => member !== "#text" && !member.startsWith("@"));
  const unread = members.find(member => !known.includes(member));
  if (unread !== undefined) return `its ${name} has the element ${unread.slice(0, maxNameLength)}, which is not read`;
  const repeated = members.find(member => !repeatable.includes(member) && elements(parent, member).length > 1);
  return repeated === undefined ? undefined : `its ${name} has more than one ${repeated}`;
}

/** Returns why a package carries something that is not read and could be state of the key, or undefined. */
export function unreadState(keyPackage: XmlElement): string | undefined {
  const key = element(keyPackage, "Key");
  return (
    unreadMember("KeyPackage", keyPackage) ??
    unreadMember("Key", key) ??
    unreadMember("AlgorithmParameters", element(key, "AlgorithmParameters")) ??
    unreadMember("Data", element(key, "Data")) ??
    unreadMember("Policy", element(key, "Policy"))
  );
}
