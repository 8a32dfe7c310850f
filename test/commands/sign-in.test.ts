import { AuthenticationRequiredError, CredentialUnavailableError, type TokenCredential } from "@azure/identity";
import { expect, it } from "vitest";
import { oneWindow } from "../../commands/sign-in.ts";

const scope = "api://id/.default";
const token = { token: "a-token", expiresOnTimestamp: 0 };

/** Returns the credential of a sign-in whose first calls fail, and the number of its calls. */
function failingSignIn(...failures: readonly Error[]) {
  const left = [...failures];
  let calls = 0;
  const credential: TokenCredential = {
    getToken: async () => {
      calls++;
      const failure = left.shift();
      if (failure !== undefined) throw failure;
      return token;
    },
  };
  return { signIn: oneWindow(credential), calls: () => calls };
}

it("opens no other window after a sign-in that failed", async () => {
  const failure = new AuthenticationRequiredError({ scopes: [scope], message: "The window was closed." });
  const { signIn, calls } = failingSignIn(failure);
  const message = "The sign-in failed, start the command again: The window was closed.";
  await expect(signIn.getToken(scope)).rejects.toThrow(message);
  await expect(signIn.getToken(scope)).rejects.toThrow(message);
  expect(calls()).toBe(1);
});

it("tries again after a failure before any window", async () => {
  const failure = new CredentialUnavailableError("Endpoints cannot be resolved.");
  const { signIn } = failingSignIn(failure);
  await expect(signIn.getToken(scope)).rejects.toBe(failure);
  expect(await signIn.getToken(scope)).toBe(token);
});
