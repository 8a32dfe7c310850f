import { createHash } from "node:crypto";

/** Where the templates are deployed, as their functions return it. */
export const place = {
  subscription: "/subscriptions/11111111-1111-4111-8111-111111111111",
  group: "/subscriptions/11111111-1111-4111-8111-111111111111/resourceGroups/rg-sample",
  location: "swedencentral",
  tenantId: "22222222-2222-4222-8222-222222222222",
  storageSuffix: "core.windows.net",
  loginEndpoint: "https://login.microsoftonline.com/",
};

/** The hooks are plain JavaScript. */
const { uniqueString }: { uniqueString(...values: readonly string[]): string } = await import(
  `../../../infra/hooks/${"names"}.mjs`
);

export type Callable = (...args: readonly unknown[]) => unknown;

/** Equal seeds give an equal id, as with Azure's own function; the id itself is another. */
const guid = (...seeds: readonly unknown[]): string => {
  const hex = createHash("sha256").update(JSON.stringify(seeds)).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), `5${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20)].join("-");
};

const text = (value: unknown): string => {
  if (typeof value !== "string") throw new Error(`a text is wanted, not ${JSON.stringify(value)}`);
  return value;
};
const list = (value: unknown): readonly unknown[] => {
  if (!Array.isArray(value)) throw new Error(`an array is wanted, not ${JSON.stringify(value)}`);
  return value;
};
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const object = (value: unknown): Readonly<Record<string, unknown>> => {
  if (!isObject(value)) throw new Error(`an object is wanted, not ${JSON.stringify(value)}`);
  return value;
};
const lambda = (value: unknown): Callable => {
  if (typeof value !== "function") throw new Error("a lambda is wanted");
  return value as Callable;
};

const merged = (left: unknown, right: unknown): unknown => {
  if (!isObject(left) || !isObject(right)) return right;
  const entries = Object.entries(right).map(([key, value]) => [key, merged(left[key], value)] as const);
  return { ...left, ...Object.fromEntries(entries) };
};

function cidrSubnet(range: string, size: number, position: number): string {
  const [address = "", bits = ""] = range.split("/");
  const start = address.split(".").reduce((all, byte) => all * 256 + Number(byte), 0);
  if (size < Number(bits) || position >= 2 ** (size - Number(bits))) throw new Error(`${range} has no such subnet`);
  const first = start + position * 2 ** (32 - size);
  return `${[24, 16, 8, 0].map(shift => Math.floor(first / 2 ** shift) % 256).join(".")}/${size}`;
}

/** The functions of the language that the templates use, as the deployment service works them out. */
export const functions: Readonly<Record<string, Callable>> = {
  cidrSubnet: (range, size, position) => cidrSubnet(text(range), Number(size), Number(position)),
  concat: (...parts) => (parts.every(Array.isArray) ? parts.flat(1) : parts.map(text).join("")),
  contains: (whole, part) => {
    if (isObject(whole)) return Object.hasOwn(whole, text(part));
    return Array.isArray(whole) ? whole.includes(part) : text(whole).includes(text(part));
  },
  empty: value => {
    if (typeof value === "string" || Array.isArray(value)) return value.length === 0;
    return value === null || Object.keys(object(value)).length === 0;
  },
  environment: () => ({
    suffixes: { storage: place.storageSuffix },
    authentication: { loginEndpoint: place.loginEndpoint },
  }),
  filter: (items, keep) => list(items).filter(item => lambda(keep)(item)),
  flatten: items => list(items).flatMap(item => list(item)),
  guid: (...seeds) => guid(...seeds.map(text)),
  indexOf: (all, item) => (Array.isArray(all) ? all.indexOf(item) : text(all).indexOf(text(item))),
  int: value => {
    if (!/^-?\d+$/.test(String(value))) throw new Error(`${JSON.stringify(value)} is no whole number`);
    return Number(value);
  },
  join: (items, by) => list(items).map(text).join(text(by)),
  items: value =>
    Object.entries(object(value))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, each]) => ({ key, value: each })),
  last: items => list(items).at(-1),
  mapValues: (value, change) =>
    Object.fromEntries(Object.entries(object(value)).map(([key, each]) => [key, lambda(change)(each)])),
  map: (items, change) => list(items).map((item, position) => lambda(change)(item, position)),
  replace: (whole, from, to) => text(whole).replaceAll(text(from), text(to)),
  skip: (items, count) => list(items).slice(Number(count)),
  split: (whole, by) => text(whole).split(text(by)),
  subscriptionResourceId: (type, ...names) => `${place.subscription}/providers/${pathOf(text(type), names.map(text))}`,
  tenant: () => ({ tenantId: place.tenantId }),
  toLower: value => text(value).toLowerCase(),
  toObject: (items, key, value) =>
    Object.fromEntries(list(items).map(item => [text(lambda(key)(item)), value ? lambda(value)(item) : item])),
  trim: value => text(value).trim(),
  union: (...parts) =>
    parts.every(Array.isArray)
      ? [...new Set(parts.flat(1))]
      : parts.map(object).reduce((all, part) => object(merged(all, part))),
  uniqueString: (...seeds) => uniqueString(...seeds.map(text)),
};

/** The functions that depend on the resource group of a deployment. @param own its id */
export const groupFunctions = (own: string): Readonly<Record<string, Callable>> => ({
  resourceGroup: (subscription, group) =>
    group === undefined
      ? { id: own, name: own.split("/").at(-1), location: place.location }
      : { id: `/subscriptions/${text(subscription)}/resourceGroups/${text(group)}` },
  resourceId: (type, ...names) => `${own}/providers/${pathOf(text(type), names.map(text))}`,
});

/** A type and the names of its levels, as a path: `a.b/c/d` and `x`, `y` are `a.b/c/x/d/y`. */
export function pathOf(type: string, names: readonly string[]): string {
  const [provider = "", ...levels] = type.split("/");
  if (levels.length !== names.length) throw new Error(`${type} has ${levels.length} levels, not ${names.length}`);
  return [provider, ...levels.map((level, position) => `${level}/${names[position]}`)].join("/");
}
