import * as z from "zod";
import type { AddressCount } from "../../../auth/model/address-limit.ts";
import type { AttributeHead } from "../../../auth/model/attributes.ts";
import type { Session } from "../../../auth/model/session.ts";
import type { Throttle } from "../../../auth/model/throttle.ts";
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
    handle: textSchema,
    password: z.object({ hash: textSchema, pepper: textSchema }).exactOptional(),
    epoch: z.int(),
    createdAt: storedInstant,
  }),
);

/** An otpkey's row, its `form` parsed. */
export const keySchema = schemaOf<OtpKey>()(
  z.object({
    id: idSchema,
    prefix: textSchema,
    kind: z.enum(otpKindNames).exactOptional(),
    enabled: z.boolean(),
    failures: count,
    stopped: z.boolean(),
    form: z.object({
      digits: count.exactOptional(),
      state: z.object({ counter: z.int(), resync: z.int().exactOptional() }),
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

/** An entry of the list of users or of otpkeys, and the pointer of an id. */
export const listedUserSchema = schemaOf<UserSummary>()(z.object({ id: idSchema, name: textSchema }));
export const listedKeySchema = schemaOf<OtpKeySummary>()(
  z.object({ id: idSchema, prefix: textSchema, enabled: z.boolean() }),
);

/** What finds the owner of an entry. */
export const handleSchema = z.object({ handle: textSchema });
export const prefixSchema = z.object({ prefix: textSchema });

/** A row that points to a user who may have a fact. */
export const indexSchema = z.object({ handle: textSchema, writtenAt: storedInstant });

/** A row that says in `ends` when it may go, and its place in the order of expiry. */
export const endingSchema = z.object({ ends: storedInstant });
export const expirySchema = z.object({ partition: textSchema, row: textSchema });

/** How far the clean-up of sessions came: an hour. */
export const doneSchema = z.object({ hour: z.string().regex(/^\d{4}-\d\d-\d\dT\d\d$/) });
