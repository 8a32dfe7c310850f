import { measure } from "../../telemetry.ts";
import { between, type Instant } from "../../time.ts";
import type { SecurityKey } from "../model/request.ts";

/** Tells how long the PIN mail of a key has been due, where a visit leaves it unsent (decision C14). */
export function measureUnsentMail({ mail }: SecurityKey, now: Instant): void {
  if (mail.state !== "due" || mail.firstDueAt === undefined) return;
  measure("pin_mail.unsent.age", between(mail.firstDueAt, now) / 1000);
}
