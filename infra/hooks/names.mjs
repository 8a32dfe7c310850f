// Names as the template computes them, so that a taken one is found before anything is created.

/** Returns the names of both vaults of a deployment. */
export const vaultNames = token => [`kv-auth-${token}`, `kv-conn-${token}`];

/** Returns the address of the file of several identity providers, in the storage account of the connector. */
export const idpFileAddress = token => `https://stconn${token}.blob.core.windows.net/configuration/idps.yaml`;

/** Returns the first part of the names of the subnets that a deployment creates in a network of yours. */
export const subnetPrefix = token => `snet-${token}-`;

/** Returns the part of every name that is unique in the world. */
export const nameToken = (groupId, { AZURE_ENV_NAME = "", NAME_SUFFIX = "" }) =>
  uniqueString(groupId, AZURE_ENV_NAME, NAME_SUFFIX);

/** Whether two names are the same for Azure. */
export const isSame = (one, other) => one.replaceAll(" ", "").toLowerCase() === other.replaceAll(" ", "").toLowerCase();

/**
 * Returns what the function of the same name returns in a template: MurmurHash of 64 bits, as 13 letters and digits.
 */
export function uniqueString(...values) {
  const bytes = Buffer.from(values.join("-"), "utf8");
  let hash = murmurHash64(bytes);
  let text = "";
  for (let position = 0; position < 13; position++) {
    text += "abcdefghijklmnopqrstuvwxyz234567"[Number(hash >> 59n)];
    hash = BigInt.asUintN(64, hash << 5n);
  }
  return text;
}

const [c1, c2] = [0x239b961b, 0xab0e9789];
const multiply = (one, other) => Math.imul(one, other) >>> 0;
const rotate = (value, bits) => ((value << bits) | (value >>> (32 - bits))) >>> 0;
const add = (...values) => values.reduce((sum, value) => (sum + value) >>> 0);

function murmurHash64(bytes) {
  let [high, low] = [0, 0];
  const whole = bytes.length - (bytes.length % 8);
  for (let at = 0; at < whole; at += 8) {
    low = rotate((low ^ multiply(rotate(multiply(bytes.readUInt32LE(at), c1), 15), c2)) >>> 0, 19);
    low = add(multiply(add(low, high), 5), 0x561ccd1b);
    high = rotate((high ^ multiply(rotate(multiply(bytes.readUInt32LE(at + 4), c2), 17), c1)) >>> 0, 13);
    high = add(multiply(add(high, low), 5), 0x0bcaa747);
  }
  const rest = bytes.subarray(whole);
  const word = from => rest.subarray(from, from + 4).reduce((sum, byte, at) => sum + byte * 2 ** (8 * at), 0);
  if (rest.length > 4) high = (high ^ multiply(rotate(multiply(word(4), c2), 17), c1)) >>> 0;
  if (rest.length > 0) low = (low ^ multiply(rotate(multiply(word(0), c1), 15), c2)) >>> 0;
  low = (low ^ bytes.length) >>> 0;
  high = (high ^ bytes.length) >>> 0;
  low = add(low, high);
  high = add(high, low);
  const mixed = value => {
    const once = multiply(value ^ (value >>> 16), 0x85ebca6b);
    const twice = multiply(once ^ (once >>> 13), 0xc2b2ae35);
    return (twice ^ (twice >>> 16)) >>> 0;
  };
  low = mixed(low);
  high = mixed(high);
  low = add(low, high);
  high = add(high, low);
  return (BigInt(high) << 32n) | BigInt(low);
}
