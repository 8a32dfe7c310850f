import type { ConnectorDeps } from "../deps.ts";

/**
 * Returns ports that get each shipment and each authenticator once: a PIN is fetched before its email is recorded and again
 * for the email, and the delivery service returns all security keys of a shipment in one response.
 */
export function withCachedResponses({ delivery, rfpr, ...deps }: ConnectorDeps): ConnectorDeps {
  return {
    ...deps,
    delivery: { ...delivery, getShipment: once(delivery.getShipment) },
    ...(rfpr && { rfpr: { ...rfpr, get: once(rfpr.get) } }),
  };
}

function once<T>(get: (id: string) => Promise<T>): (id: string) => Promise<T> {
  const cached = new Map<string, Promise<T>>();
  return id => {
    const answer = cached.get(id) ?? get(id);
    cached.set(id, answer);
    return answer;
  };
}
