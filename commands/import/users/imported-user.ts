import { parseAttributeKey, parseAttributeValue } from "../../../lib/auth/attributes/attributes.ts";
import { parsePrefix } from "../../../lib/auth/otpkeys/prefix.ts";
import { parseImportedHash } from "../../../lib/auth/passwords/imported-hash.ts";
import { parseUsername } from "../../../lib/auth/users/username.ts";
import { RefusedLine } from "../lines.ts";
import { maxBatchBytes } from "../run-import.ts";

/** A user as `POST /core/users/batch` takes it. */
export interface ImportUser {
  readonly username: string;
  readonly password?: string;
  readonly password_hash?: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly otpkeys: readonly string[];
  readonly enabled: boolean;
  /** What a person has to know of the line, if it is imported. Not sent. */
  readonly note?: string;
}

/** A user as read from a file. */
export interface WrittenUser extends Omit<ImportUser, "username" | "enabled"> {
  readonly username: string | undefined;
  /** Undefined if the text is neither true nor false. */
  readonly enabled: boolean | undefined;
  /** What cannot be read. */
  readonly problems?: readonly string[];
}

/** Fewer than the values that Core takes in a body. */
const maxBatchValues = 9_990;
/** Values of a user without attributes and OTP keys. */
const ownValues = 8;

/** Returns how much of the largest call a user takes, in bytes. */
export function bytesOf(user: ImportUser): number {
  const values = ownValues + Object.keys(user.attributes).length + user.otpkeys.length;
  return Math.max(Buffer.byteLength(JSON.stringify(user)) + 1, (values * maxBatchBytes) / maxBatchValues);
}

/** Whether a text was read in the encoding in which it was written. */
const isReadable = (text: string): boolean => text.isWellFormed() && !text.includes("\ufffd");

/** Returns a user checked by the rules of Core. Throws `RefusedLine`, which names every problem and quotes no secret. */
export function checkUser({ username, enabled, problems: unread = [], ...rest }: WrittenUser): ImportUser {
  const { password, password_hash: hash, attributes, otpkeys } = rest;
  const user = { ...rest, username: username ?? "", enabled: enabled ?? true };
  const name = parseUsername(user.username);
  const parsed = hash === undefined ? undefined : parseImportedHash(hash);
  const texts = [user.username, password ?? "", ...Object.entries(attributes).flat(), ...otpkeys];
  const problems = [
    ...unread,
    ...(texts.every(isReadable) ? [] : ["it has a character that cannot be read: the file must be UTF-8 or UTF-16"]),
    ...(user.username === "" ? ["it has no username"] : name.ok ? [] : [`its username ${name.reason}`]),
    ...(password === undefined && hash === undefined ? ["it has neither password nor password_hash"] : []),
    ...(password !== undefined && hash !== undefined ? ["it has both password and password_hash"] : []),
    ...(parsed === undefined || parsed.ok ? [] : [`its password_hash ${parsed.reason}`]),
    ...Object.entries(attributes).flatMap(([key, value]) =>
      [parseAttributeKey(key), parseAttributeValue(value)].flatMap(each =>
        each.ok ? [] : [`its attribute ${key} ${each.reason}`],
      ),
    ),
    ...otpkeys.filter(prefix => parsePrefix(prefix) === undefined).map(prefix => `its otpkey ${prefix} is no prefix`),
    ...(enabled === undefined ? ["its enabled must be true or false"] : []),
    ...(bytesOf(user) > maxBatchBytes ? [`it has more than ${maxBatchBytes} bytes`] : []),
  ];
  if (problems.length > 0) throw new RefusedLine(problems.join("; "));
  return user;
}
