import * as z from "zod";
import { optionalText } from "../inputs.ts";

/** What authenticate and login take, all optional (specification section 4). */
export const credentials = z.object({
  username: optionalText("May be left out where the deployment identifies users by OTP."),
  password: optionalText("The password."),
  otp: optionalText("An OTP of an otpkey of the user; it is used up."),
});
