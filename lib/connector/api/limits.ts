/** The maximum sizes of a request (C5). Security keys are counted by quantity. */
export const requestLimits = { keys: 50, credentialsPerKey: 20, credentials: 100, emailsTo: 20 } as const;
