// Address ranges in CIDR form. Node's own lists of addresses compare them, so that a hook runs before any package is installed.
import { BlockList, isIP } from "node:net";

/** Returns the range of a text such as 10.90.0.0/23; undefined if it is none, also if the address is not the first one of the range. */
export function parseRange(text = "") {
  const [, address = "", length = ""] = /^\s*([\da-f.:]+)\/(\d{1,3})\s*$/i.exec(text) ?? [];
  const bits = Number(length);
  const family = { 4: "ipv4", 6: "ipv6" }[isIP(address)];
  if (family === undefined || bits > (family === "ipv4" ? 32 : 128)) return undefined;
  if (firstAddress(address, bits) !== undefined) return undefined;
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
  if (!/^\d{1,3}$/.test(length) || bits > sizes[family]) return "has no prefix length that fits its address";
  return `does not begin with the first address of its range: write ${firstAddress(address, bits)}/${bits}`;
}

/** Bits of an address, by its version. */
const sizes = { 4: 32, 6: 128 };

/** Returns the first address of the range, undefined if that is the address itself. */
function firstAddress(address, bits) {
  const version = isIP(address);
  const rest = BigInt(sizes[version] - bits);
  const number = numberOf(address, version);
  const first = (number >> rest) << rest;
  if (first === number) return undefined;
  const partBits = version === 4 ? 8 : 16;
  const parts = Array.from({ length: sizes[version] / partBits }, (_, position) =>
    Number((first >> BigInt(sizes[version] - partBits * (position + 1))) % 2n ** BigInt(partBits)),
  );
  return version === 4 ? parts.join(".") : shortened(parts.map(part => part.toString(16)).join(":"));
}

/** The WHATWG parser of URLs writes an IPv6 address in its short form, without an IPv4 address at its end. */
const shortened = address => new URL(`http://[${address}]`).hostname.slice(1, -1);

function numberOf(address, version) {
  if (version === 4) return address.split(".").reduce((all, byte) => (all << 8n) + BigInt(byte), 0n);
  const [left, right] = shortened(address)
    .split("::")
    .map(side => side.split(":").filter(part => part !== ""));
  const zeros = right === undefined ? [] : Array(8 - left.length - right.length).fill("0");
  return [...left, ...zeros, ...(right ?? [])].reduce((all, part) => (all << 16n) + BigInt(`0x${part}`), 0n);
}
