import * as z from "zod";

/** Returns the schema of a position in a list of requests: the time of a creation and a request id. */
export const listPosition = (error: string) =>
  z.string().regex(/^[0-9]{4}(?:-[0-9]{2}){2}T[0-9]{2}(?::[0-9]{2}){2}\.[0-9]{3}Z_[0-9a-f-]{36}$/, { error });
