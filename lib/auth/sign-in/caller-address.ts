import { BlockList, isIP } from "node:net";

/**
 * Returns what attempts are counted by: the IPv4 address, or the /64 network of an IPv6 address, because one caller
 * usually has a whole /64. Ignores a port, which a proxy may write. Returns undefined for a text that is not an
 * address.
 */
export function addressGroup(text: string): string | undefined {
  const address = addressOf(text);
  if (address === undefined || isIP(address) === 4) return address;
  const [front = "", back = ""] = canonical(address).split("::");
  const [first, last] = [groupsOf(front), groupsOf(back)];
  const all = [...first, ...Array.from({ length: 8 - first.length - last.length }, () => "0"), ...last];
  return `${all.slice(0, 4).join(":")}::/64`;
}

/** Parses an allow-list of addresses and networks, such as `10.0.0.0/8`. Returns whether an address is on it. */
export function parseAllowList(entries: readonly string[]): (text: string) => boolean {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = "", bits] = entry.split("/");
    const family = familyOf(address);
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return text => {
    const address = addressOf(text);
    return address !== undefined && list.check(address, familyOf(address));
  };
}

/** Returns whether an entry of a setting is an address or a network. */
export function isAddressEntry(entry: string): boolean {
  const [, address = "", bits = "0"] = /^([0-9a-fA-F.:]+)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
  return isIP(address) !== 0 && Number(bits) <= (isIP(address) === 4 ? 32 : 128);
}

/** Returns the address without port and brackets; an IPv4-mapped IPv6 address becomes IPv4. */
function addressOf(text: string): string | undefined {
  const bare = /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? text;
  if (isIP(bare) === 4) return bare;
  if (isIP(bare) !== 6 || bare.includes("%")) return undefined;
  const [, high, low] = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(canonical(bare)) ?? [];
  if (high === undefined || low === undefined) return bare;
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [a >> 8, a & 255, b >> 8, b & 255].join(".");
}

/** Returns the canonical text of an IPv6 address: lower case, no leading zeros, the longest run of zeros as `::`. */
const canonical = (address: string): string => new URL(`http://[${address}]`).hostname.slice(1, -1);

const groupsOf = (text: string): readonly string[] => (text === "" ? [] : text.split(":"));

const familyOf = (address: string): "ipv4" | "ipv6" => (isIP(address) === 6 ? "ipv6" : "ipv4");
