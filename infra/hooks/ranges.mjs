// Address ranges in CIDR form. Node's own lists of addresses compare them, so that a hook runs before any package is installed.
import { BlockList, isIP } from "node:net";

/** Returns the range of a text such as 10.90.0.0/23; undefined if it is none, also if the address is not the first one of the range. */
export function parseRange(text = "") {
  const [, address = "", length = ""] = /^\s*([\da-f.:]+)\/(\d{1,3})\s*$/i.exec(text) ?? [];
  const bits = Number(length);
  const family = { 4: "ipv4", 6: "ipv6" }[isIP(address)];
  if (family === undefined || bits > (family === "ipv4" ? 32 : 128)) return undefined;
  if (family === "ipv4" && numberOf(address) % 2 ** (32 - bits) !== 0) return undefined;
  const list = new BlockList();
  list.addSubnet(address, bits, family);
  return { text: text.trim(), address, bits, family, list };
}

/** Returns the first range of this length in another one; undefined if that is smaller. */
export const firstIn = ({ address, bits }, length) => (bits > length ? undefined : parseRange(`${address}/${length}`));

/** Whether all of a range is in another one. */
export const contains = (outer, inner) =>
  outer.family === inner.family && outer.bits <= inner.bits && outer.list.check(inner.address, inner.family);

/** Whether two ranges have an address in common. */
export const overlap = (one, other) => contains(one, other) || contains(other, one);

/** Returns what a text should be that is no range. */
export function rangeProblem(text) {
  const [address = "", length] = text.trim().split("/");
  const family = isIP(address);
  if (family === 0) return "is no address range such as 203.0.113.0/24";
  if (length === undefined) return `is an address without a prefix length: write ${address}/${family === 4 ? 32 : 128}`;
  const bits = Number(length);
  if (family === 6 || !(bits <= 32)) return "has no prefix length that fits its address";
  const first = numberOf(address) - (numberOf(address) % 2 ** (32 - bits));
  const bytes = [24, 16, 8, 0].map(shift => Math.floor(first / 2 ** shift) % 256);
  return `does not begin with the first address of its range: write ${bytes.join(".")}/${bits}`;
}

const numberOf = address => address.split(".").reduce((all, byte) => all * 256 + Number(byte), 0);
