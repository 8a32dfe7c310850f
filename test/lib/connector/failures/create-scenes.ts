import { orderBody } from "../../../support/connector.ts";
import { create } from "./acts.ts";
import { doneOrNot, undone, words } from "./failure.ts";
import type { Scene } from "./stage.ts";

export const createScenes: readonly Scene[] = [
  {
    title: "Creation options",
    body: () => orderBody([1]),
    act: create,
    steps: [
      {
        peer: "Entra ID",
        call: "access token",
        at: { peer: "entra", method: "POST", path: "/oauth2/" },
        failures: undone(words.oauth),
      },
      {
        peer: "Entra ID",
        call: "creation options",
        at: { peer: "entra", method: "GET", path: "creationOptions" },
        failures: undone(words.graph),
      },
    ],
  },
  {
    title: "Order",
    body: () => orderBody([1]),
    act: create,
    steps: [
      {
        peer: "delivery service",
        call: "transport keys",
        at: { peer: "delivery", method: "GET", path: "transport-keys" },
        failures: undone(words.flat),
      },
      {
        peer: "delivery service",
        call: "order",
        at: { peer: "delivery", method: "POST", path: "/shipments$" },
        failures: doneOrNot(words.flat),
      },
    ],
  },
];
