import type { Examples } from "../operation.ts";

const credentials = { username: "alice", password: "correct horse battery", otp: "vvccccbcdeft755224" };

/** Examples of the Client API, for the user and the OTP key of the examples of the Core API. Each uses up an OTP. */
export const clientExamples: Examples = {
  clientAuthenticate: { body: credentials, status: 200, answer: true },
  clientLogin: {
    body: { ...credentials, otp: "vvccccbcdeft287082" },
    status: 200,
    answer: { session: "kq3b9Yp0m1vTq8yZxw2nR4uJ6sD7fG5hL0aC1eB3iNo" },
  },
  clientLogout: { status: 200, answer: true },
  clientStatus: {
    status: 200,
    answer: {
      username: "alice",
      user_id: 1,
      prefix: "vvccccbcdeft",
      _accessed_time: 1769853600.25,
      _creation_time: 1769850000.5,
    },
  },
  clientPassword: {
    body: { newpass: "another good password", oldpass: "correct horse battery", otp: "vvccccbcdeft359152" },
    status: 200,
    answer: true,
  },
  clientAssignOtpkey: {
    body: { password: "correct horse battery", otp: "vvccccbcdefv755224" },
    status: 200,
    answer: { prefix: "vvccccbcdefv" },
  },
};
