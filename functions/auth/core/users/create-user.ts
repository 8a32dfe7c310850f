import * as z from "zod";
import { createUser as create } from "../../../../lib/auth/users/manage-users.ts";
import { endpoint } from "../../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { mustChangeField } from "../../inputs.ts";
import { userSummary } from "../../views.ts";

const body = z.object({
  username: z
    .string()
    .meta({ description: "Unique, ignoring case. Must not contain `/`, `\\`, `?`, `#`, `%2F`, or `%80` to `%FF`." }),
  password: z.string().meta({ description: "The password. An empty one means no password." }),
  must_change: mustChangeField,
});

/** Creates a user (specification section 4). */
export const createUser = endpoint({
  routes: ["POST /users"],
  access: "caller",
  role: "admin",
  tag: "Users",
  summary: "Create a user",
  description:
    "Creates a user with a username and a password. The username must be unique, ignoring case. An empty password " +
    "means that the user cannot sign in with a password. With `must_change` the user has to change it before the first " +
    "session. `Location` is the URL of the new user.",
  body,
  answers: { 201: { description: "The user is created.", headers: ["location"], schema: userSummary } },
  refusals: ["conflict"],
  handle: async ({ body }, context: AuthContext, { call }) => {
    const { must_change: mustChange = false, ...given } = body;
    const { id, name } = (await create({ ...given, mustChange }, context)).value;
    return { status: 201, headers: { location: `${context.coreUrl(call.url)}/users/${id}` }, body: { id, name } };
  },
});
