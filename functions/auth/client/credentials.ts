import * as z from "zod";
import { optionalText } from "../inputs.ts";

/** The fields of authenticate and login, all optional (specification section 4). */
export const credentials = z
  .object({
    username: optionalText("The username. Optional if the deployment identifies users by OTP."),
    password: optionalText("The password."),
    otp: optionalText("An OTP of one of the user's otpkeys. It is used up."),
  })
  .meta({ id: "SignInCredentials" });
