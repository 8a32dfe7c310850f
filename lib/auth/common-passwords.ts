let list: Promise<ReadonlySet<string>> | undefined;

/**
 * Whether a password is on a list of some 49,000 common ones, in any letter case (decision A4). The list is loaded at the
 * first question: sign-ins never ask.
 */
export async function isCommonPassword(password: string): Promise<boolean> {
  list ??= load();
  return (await list).has(password.toLowerCase());
}

async function load(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import("@zxcvbn-ts/language-common");
  return new Set(dictionary["passwords-common"]);
}
