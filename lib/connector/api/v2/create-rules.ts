import type * as z from "zod";
import { requestLimits } from "../limits.ts";

// Rules across fields. They run although single fields are wrong, so they take values of any type.

type Context = z.core.$RefinementCtx;
type Fields = Readonly<Record<string, unknown>>;

export function requireShipmentOrAuthenticators({ shipment, authenticators }: Fields, context: Context): void {
  if (shipment !== undefined || authenticators !== undefined) return;
  context.addIssue({ code: "custom", path: ["shipment"], message: "is required where authenticators is absent" });
}

/** Limits over the whole request (decision C5); those of a single list are the list's own. */
export function withinLimits({ shipment, authenticators }: Fields, context: Context): void {
  const items = listAt(shipment, "shipment_items").map((key, index) => ({
    key,
    path: ["shipment", "shipment_items", index],
  }));
  const onSite = (Array.isArray(authenticators) ? authenticators : []).map((key: unknown, index) => ({
    key,
    path: ["authenticators", index],
  }));
  if (items.length + onSite.length > requestLimits.keys) {
    const message = `makes more than ${requestLimits.keys} keys, shipment items and authenticators together`;
    context.addIssue({ code: "custom", path: ["authenticators"], message });
  }
  let credentials = 0;
  for (const { key, path } of [...items, ...onSite]) {
    credentials += listAt(key, "credentials").length;
    if (credentials <= requestLimits.credentials) continue;
    const message = `makes more than ${requestLimits.credentials} credentials in the request`;
    context.addIssue({ code: "custom", path: [...path, "credentials"], message });
    return;
  }
}

function listAt(value: unknown, name: string): readonly unknown[] {
  const list = typeof value === "object" && value !== null ? (value as Fields)[name] : undefined;
  return Array.isArray(list) ? list : [];
}
