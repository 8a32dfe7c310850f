/**
 * An address that refuses connections: no program listens at this reserved port, and the system does not give it to a
 * server as a free one. `fetch` blocks port 1, but not this one.
 */
export const deadAddress = "http://127.0.0.1:2";
