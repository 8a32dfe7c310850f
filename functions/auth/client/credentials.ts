import * as z from "zod";
import { optionalFlag, optionalOtp, optionalText } from "../inputs.ts";

/** The fields of authenticate and login, all optional (specification section 4). */
export const credentials = z
  .object({
    username: optionalText("The username. Optional if the deployment identifies users by OTP."),
    password: optionalText("The password."),
    otp: optionalOtp("An OTP of one of the user's otpkeys. It is used up."),
  })
  .meta({ id: "SignInCredentials" });

/** The fields of login. */
export const loginFields = credentials
  .extend({
    remember_device: optionalFlag("Whether to return a device token. Default: false."),
  })
  .meta({ id: "LoginFields" });

/** The header by which a program presents a device token. Browsers send the cookie. */
export const deviceHeader = z.object({
  "X-Service-Device": z
    .string()
    .optional()
    .describe("A device token of an earlier login: failures of other callers then do not lock this caller out."),
});
