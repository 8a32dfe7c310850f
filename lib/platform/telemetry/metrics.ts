/** Every metric that the app records. Alert rules use these names (docs/telemetry.md). */
export const metrics = {
  "event.unsent.age": { unit: "s", description: "Age of a due event that could not be sent to its sink." },
  "job.duration": { unit: "s", description: "Duration of a job run." },
  "job.items": { unit: "{item}", description: "Items that a job run processed, by result." },
  "pin_mail.unsent.age": { unit: "s", description: "Age of a due PIN email that a job run could not send." },
  "password.imported": { unit: "{password}", description: "Password hashes that were imported or renewed." },
  "peer.call.duration": { unit: "s", description: "Duration of a call to a peer." },
  "secret.days_left": { unit: "d", description: "Days until a Key Vault secret expires." },
} as const;

export type Metric = keyof typeof metrics;
