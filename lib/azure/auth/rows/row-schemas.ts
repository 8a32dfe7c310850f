import * as z from "zod";
import type { AddressCount } from "../../../auth/model/address-limit.ts";
import type { AttributeHead } from "../../../auth/model/attributes.ts";
import type { Session } from "../../../auth/model/session.ts";
import type { Throttle } from "../../../auth/model/throttle.ts";
import { totpAlgorithms } from "../../../auth/otp/contract.ts";
import { otpKindNames } from "../../../auth/otp/kinds.ts";
import type { OtpKey, OtpKeySummary, User, UserSummary } from "../../../auth/store.ts";
import { schemaOf, storedInstant } from "../../tables/row-schema.ts";

export const textSchema = z.string();
export const idSchema = z.int().positive();
const count = z.int().nonnegative();

export const userSchema = schemaOf<User>()(
  z.object({
    id: idSchema,
    name: textSchema,
    userHash: textSchema,
    password: z.object({ hash: textSchema, pepper: textSchema }).exactOptional(),
    epoch: z.int(),
    createdAt: storedInstant,
  }),
);

/** An OTP key's row, with its column `form` parsed. */
export const keySchema = schemaOf<OtpKey>()(
  z.object({
    id: idSchema,
    prefix: textSchema,
    kind: z.enum(otpKindNames).exactOptional(),
    enabled: z.boolean(),
    failures: count,
    stopped: z.boolean(),
    stoppedAt: storedInstant.exactOptional(),
    lastUsed: storedInstant.exactOptional(),
    validFrom: storedInstant.exactOptional(),
    validUntil: storedInstant.exactOptional(),
    temporaryCode: z
      .object({ hash: textSchema.exactOptional(), usesLeft: count, validUntil: storedInstant })
      .exactOptional(),
    form: z.object({
      digits: count.exactOptional(),
      period: count.exactOptional(),
      algorithm: z.enum(totpAlgorithms).exactOptional(),
      state: z.object({ counter: z.int(), resync: z.int().exactOptional(), drift: z.int().exactOptional() }),
    }),
    sealedSecret: textSchema.exactOptional(),
    createdAt: storedInstant,
  }),
);

export const sessionSchema = schemaOf<Session>()(
  z.object({
    userId: idSchema,
    epoch: z.int(),
    prefix: textSchema.exactOptional(),
    createdAt: storedInstant,
    accessedAt: storedInstant,
    expiresAt: storedInstant,
  }),
);

export const throttleSchema = schemaOf<Throttle>()(
  z.object({
    failures: count,
    failedAt: storedInstant.exactOptional(),
    reservations: z.array(z.object({ id: textSchema, at: storedInstant })),
  }),
);

export const headSchema = schemaOf<AttributeHead>()(z.object({ count, size: count }));

export const addressSchema = schemaOf<AddressCount>()(z.object({ since: storedInstant, attempts: count }));

/** Entries of the lists of users and of OTP keys. */
export const listedUserSchema = schemaOf<UserSummary>()(z.object({ id: idSchema, name: textSchema }));
export const listedKeySchema = schemaOf<OtpKeySummary>()(
  z.object({ id: idSchema, prefix: textSchema, enabled: z.boolean() }),
);

/** The column that locates the owner of a list row or pointer. */
export const userHashSchema = z.object({ userHash: textSchema });
export const prefixSchema = z.object({ prefix: textSchema });

/** The column that says what a pointer points to. */
export const pointerSchema = z.object({ list: z.enum(["users", "otpkeys"]) });

/** A row `user` that belongs to a rename. */
export const renamedSchema = z.object({
  renamed: idSchema,
  from: textSchema.exactOptional(),
  to: textSchema.exactOptional(),
  ends: storedInstant,
});

/** An index row that points to a user. */
export const indexSchema = z.object({ userHash: textSchema, writtenAt: storedInstant });

/** A row that expires, and its row in the expiry index. */
export const endsSchema = z.object({ ends: storedInstant });
export const expirySchema = z.object({ partition: textSchema, row: textSchema });
