import { hours, minutes, seconds } from "../../../../lib/platform/time.ts";
import { hotpKey } from "../../../support/auth/software-key.ts";
import { withSession } from "../../../support/auth/test-auth.ts";
import { type Step, type StepContext, startCall } from "./calls.ts";
import { attributeKeys, attributeValues, type KnownUser, usernames } from "./known-state.ts";
import { changePasswordStep, signInStep } from "./sign-ins.ts";

const weights = {
  create: 6,
  delete: 3,
  rename: 4,
  reset: 4,
  attribute: 7,
  keyAttribute: 5,
  import: 5,
  deleteKey: 2,
  assign: 9,
  unassign: 3,
  enable: 5,
  signIn: 20,
  changePassword: 5,
  logout: 4,
  status: 5,
  endSessions: 3,
  unlock: 2,
  cleanUp: 2,
  time: 5,
  continue: 5,
};

/** Takes one random step: a call to the Core or Client API, clean-up, or an advance of the clock. */
export async function takeStep(context: StepContext): Promise<void> {
  const { random, run, faults, known, healthyHost } = context;
  const host = random.pick(context.hosts);
  const living = known.users.filter(({ exists }) => exists.possible().includes(true));
  const step = living.length === 0 ? "create" : random.weighted(weights);
  const given = { ...context, host, otpkey: random.pick(known.otpkeys) };
  switch (step) {
    case "create":
      return createUser(given);
    case "import":
      return importKey(given);
    case "deleteKey":
      return deleteKey(given);
    case "enable":
      return enableKey(given);
    case "keyAttribute":
      return setKeyAttribute(given);
    case "cleanUp":
      return run.start("clean-up", () => host.context.cleanUp());
    case "time":
      return healthyHost.advance(random.pick([seconds(5), seconds(31), minutes(2), hours(0.5)]));
    case "continue":
      return faults.continueOne();
    case "logout":
    case "status":
    case "changePassword": {
      if (known.sessions.length === 0) return;
      const session = random.pick(known.sessions);
      if (step === "changePassword") return changePasswordStep(given, session);
      const options = { headers: withSession(session.value) };
      if (step === "logout")
        return startCall(given, `log out ${session.user.id}`, () => host.call("POST", "/client/logout", options), [
          session.isAlive.begin(false),
        ]);
      const from = known.clock.next();
      return startCall(
        given,
        `status of ${session.user.id}`,
        () => host.call("GET", "/client/status", options),
        [],
        ({ status }) => {
          const possible = session.isAlive.possible(from, known.clock.next());
          if (status < 500 && !possible.includes(status === 200))
            known.wrong.push(`a session of ${session.user.id} must not answer ${status}`);
        },
      );
    }
    default:
      return userStep({ ...given, user: random.pick(living) }, step);
  }
}

type UserStep =
  | "delete"
  | "rename"
  | "reset"
  | "attribute"
  | "assign"
  | "unassign"
  | "signIn"
  | "endSessions"
  | "unlock";

/** A step that names a user. */
async function userStep(step: Step & { readonly user: KnownUser }, kind: UserStep): Promise<void> {
  const { random, known, host, user, otpkey } = step;
  const path = `/core/users/${user.id}`;
  const endsSessions = () => known.endSessions(session => session.user === user);
  switch (kind) {
    case "delete":
      return startCall(step, `delete ${user.id}`, () => host.call("DELETE", path), [
        user.exists.begin(false),
        endsSessions(),
      ]);
    case "rename": {
      const username = random.pick(usernames);
      const writes = [user.name.begin(username), endsSessions()];
      return startCall(
        step,
        `rename ${user.id} to ${username}`,
        () => host.post(`${path}/rename`, { username }),
        writes,
      );
    }
    case "reset": {
      const password = known.newPassword();
      const writes = [user.password.begin(password), endsSessions()];
      return startCall(step, `reset ${user.id}`, () => host.post(`${path}/reset`, { password }), writes);
    }
    case "attribute": {
      const key = random.pick(attributeKeys);
      const value = random.pick([...attributeValues, null]);
      const writes = [user.attributes.get(key)?.begin(value)];
      return startCall(
        step,
        `set ${key} of ${user.id} to ${value}`,
        () =>
          value === null
            ? host.call("DELETE", `${path}/attributes/${key}`)
            : host.post(`${path}/attributes`, { key, value }),
        writes,
      );
    }
    case "assign": {
      const writes = [user.otpkeys.get(otpkey.prefix)?.begin(true)];
      // Creates the OTP key if it does not exist.
      const created = otpkey.exists.begin("no secret");
      const assign = () => host.post(`${path}/otpkeys`, { otpkey: otpkey.prefix });
      return startCall(step, `assign ${otpkey.prefix} to ${user.id}`, assign, writes, ({ status }) => {
        // Remains unknown, because the OTP key may have existed. But nothing is created after a response.
        if (status !== 503) created.respondedAt = known.clock.next();
      });
    }
    case "unassign": {
      const writes = [user.otpkeys.get(otpkey.prefix)?.begin(false)];
      const unassign = () => host.call("DELETE", `${path}/otpkeys/${otpkey.prefix}`);
      return startCall(step, `unassign ${otpkey.prefix} from ${user.id}`, unassign, writes);
    }
    case "signIn":
      return signInStep(step, user);
    case "endSessions":
      return startCall(step, `end sessions of ${user.id}`, () => host.post(`${path}/sessions/delete`), [
        endsSessions(),
      ]);
    case "unlock":
      return startCall(step, `unlock ${user.id}`, () => host.post(`${path}/unlock`), []);
  }
}

async function createUser(step: Step): Promise<void> {
  const { random, known, host } = step;
  const user = { username: random.pick(usernames), password: known.newPassword() };
  const from = known.clock.next();
  const unknown = { name: user.username, password: user.password };
  known.unknownCreates.add(unknown);
  await startCall(
    step,
    `create ${user.username}`,
    () => host.post("/core/users", user),
    [],
    ({ status, body }) => {
      if (status === 503) return;
      known.unknownCreates.delete(unknown);
      if (status !== 201) return;
      const { id } = body as { id: number };
      // A sign-in can have found the user before.
      if (known.users.every(each => each.id !== id)) known.addUser({ id, ...unknown, from });
    },
  );
}

async function importKey(step: Step): Promise<void> {
  const { host, otpkey } = step;
  const { fields, prefix } = otpkey.software;
  await startCall(step, `import ${prefix}`, () => host.post("/core/otpkeys", fields), [
    otpkey.exists.begin("imported"),
  ]);
}

async function deleteKey(step: Step): Promise<void> {
  const { known, host, otpkey } = step;
  const { prefix } = otpkey;
  // An OTP key that is created again is enabled.
  const enabled = otpkey.enabled.begin(true);
  const unassigned = { ...enabled, value: false };
  known.keyDeletions.push({ prefix, write: unassigned });
  for (const user of known.users) user.otpkeys.get(prefix)?.add(unassigned);
  otpkey.software = hotpKey({ prefix });
  otpkey.nextCounter = 0;
  const writes = [enabled, unassigned, otpkey.exists.begin("absent")];
  await startCall(step, `delete ${prefix}`, () => host.call("DELETE", `/core/otpkeys/${prefix}`), writes);
}

/** After all deletions, no row of it may be left. */
async function setKeyAttribute(step: Step): Promise<void> {
  const { random, host, otpkey } = step;
  const fields = { key: random.pick(attributeKeys), value: random.pick(attributeValues) };
  const path = `/core/otpkeys/${otpkey.prefix}/attributes`;
  await startCall(step, `set ${fields.key} of ${otpkey.prefix}`, () => host.post(path, fields), []);
}

async function enableKey(step: Step): Promise<void> {
  const { random, known, host, otpkey } = step;
  const { prefix } = otpkey;
  const isEnabled = random.chance(0.6);
  const endsSessions = !isEnabled && random.chance(0.5);
  const writes = [
    otpkey.enabled.begin(isEnabled),
    ...(endsSessions ? [known.endSessions(session => session.prefix === prefix)] : []),
  ];
  const path = `/core/otpkeys/${prefix}/${isEnabled ? "enable" : "disable"}`;
  const fields = endsSessions ? { end_sessions: "true" } : {};
  await startCall(step, `${path}${endsSessions ? " and end sessions" : ""}`, () => host.post(path, fields), writes);
}
