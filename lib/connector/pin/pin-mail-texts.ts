import type { pinMailLanguages } from "../settings.ts";

/** The fixed texts of the PIN email in one language. They contain no markup; the caller escapes them. */
export interface PinMailTexts {
  /** @param key name and serial number of the security key */
  readonly subject: (key: string) => string;
  /** The subject if name or serial number contains the digits of the PIN. */
  readonly shortSubject: string;
  /** The first sentence. @param organization who sends the email; empty if the settings do not name it */
  readonly introduction: (organization: string) => string;
  /** The line before the PIN. */
  readonly pin: string;
  readonly securityKey: string;
  readonly serialNumber: string;
  readonly user: (count: number) => string;
  readonly trackingNumber: string;
  readonly signInAddress: string;
  readonly support: string;
  /** What the PIN is for, how to keep it, and what to do if the email was not expected. */
  readonly advice: readonly string[];
}

export const pinMailTexts: Readonly<Record<(typeof pinMailLanguages)[number], PinMailTexts>> = {
  en: {
    subject: key => `PIN for security key ${key}`,
    shortSubject: "PIN for your security key",
    introduction: organization =>
      organization === ""
        ? "A security key has been prepared. This email has its PIN."
        : `${organization} has prepared a security key. This email has its PIN.`,
    pin: "The PIN is:",
    securityKey: "Security key",
    serialNumber: "Serial number",
    user: count => (count === 1 ? "User" : "Users"),
    trackingNumber: "Tracking number",
    signInAddress: "Sign in at",
    support: "Support",
    advice: [
      "You need the PIN when you sign in with the security key.",
      "Give the PIN only to the person who uses the security key, and keep it apart from the key. Support will never ask for it, neither by email nor by telephone.",
      "If you did not expect this email, do not use the PIN and do not pass it on: report the email to your support.",
    ],
  },
  de: {
    subject: key => `PIN für Sicherheitsschlüssel ${key}`,
    shortSubject: "PIN für Ihren Sicherheitsschlüssel",
    introduction: organization =>
      organization === ""
        ? "Ein Sicherheitsschlüssel wurde vorbereitet. Diese E-Mail enthält seine PIN."
        : `${organization} hat einen Sicherheitsschlüssel vorbereitet. Diese E-Mail enthält seine PIN.`,
    pin: "Die PIN lautet:",
    securityKey: "Sicherheitsschlüssel",
    serialNumber: "Seriennummer",
    user: () => "Benutzer",
    trackingNumber: "Sendungsnummer",
    signInAddress: "Anmelden unter",
    support: "Support",
    advice: [
      "Sie brauchen die PIN, wenn Sie sich mit dem Sicherheitsschlüssel anmelden.",
      "Geben Sie die PIN nur der Person, die den Sicherheitsschlüssel benutzt, und bewahren Sie sie getrennt vom Schlüssel auf. Der Support fragt nie nach der PIN, weder per E-Mail noch am Telefon.",
      "Falls Sie diese E-Mail nicht erwartet haben, benutzen Sie die PIN nicht und geben Sie sie nicht weiter: Melden Sie die E-Mail Ihrem Support.",
    ],
  },
};
