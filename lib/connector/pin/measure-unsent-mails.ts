import { measure } from "../../platform/telemetry.ts";
import { between, type Instant } from "../../platform/time.ts";
import type { SecurityKey } from "../model/request.ts";

/** Measures how long the PIN mail of a security key has been due and not sent. */
export function measureUnsentMail({ mail }: SecurityKey, now: Instant): void {
  if (mail.state !== "due" || mail.firstDueAt === undefined) return;
  measure("pin_mail.unsent.age", between(mail.firstDueAt, now) / 1000);
}
