/** Every metric that a deployment tells (docs/telemetry.md): alerts are built on these names. */
export const metrics = {
  "job.duration": { unit: "s", description: "A run of a job." },
  "job.items": { unit: "{item}", description: "A count of a run's report." },
  "pin_mail.unsent.age": { unit: "s", description: "Age of a due PIN mail that a run could not send." },
  "peer.call.duration": { unit: "s", description: "A call of a peer." },
  "secret.days_left": { unit: "d", description: "Days until a vault secret expires." },
} as const;

export type Metric = keyof typeof metrics;
