import * as z from "zod";
import { base64Text } from "./creation-options.ts";

/** A binary value of Ping's products: a list of signed bytes, or base64 in either alphabet. Parsed to base64url. */
export const pingBinary = z.lazy(() =>
  z.union([
    z
      .array(z.int().min(-128).max(255))
      .min(1)
      .transform(bytes => Buffer.from(Uint8Array.from(bytes)).toString("base64url")),
    base64Text,
  ]),
);
