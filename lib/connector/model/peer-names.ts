/** The names of peers, as limits of calls, rows of due work, failures and log lines have them. */
export const deliveryService = "delivery service";
export const preRegistrationApi = "pre-registration API";
export const mailService = "mail service";
export const idpName = (id: string): string => `IdP ${id}`;
