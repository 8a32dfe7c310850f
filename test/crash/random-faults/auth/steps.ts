import { hours, minutes, seconds } from "../../../../lib/time.ts";
import { hotpKey } from "../../../support/auth/software-key.ts";
import { withSession } from "../../../support/auth/test-auth.ts";
import { change, type Stage, type Step } from "./calls.ts";
import { changePasswordStep, signInStep } from "./sign-ins.ts";
import { attributeKeys, attributeValues, type KnownUser, usernames } from "./world.ts";

const weights = {
  create: 6,
  delete: 3,
  rename: 4,
  reset: 4,
  attribute: 7,
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

/** One random step of a caller of either API, of the timer, or of time. */
export async function takeStep(stage: Stage): Promise<void> {
  const { draw, play, faults, world, sound } = stage;
  const host = draw.pick(stage.hosts);
  const living = world.users.filter(({ exists }) => exists.possible().includes(true));
  const step = living.length === 0 ? "create" : draw.weighted(weights);
  const known = { ...stage, host, otpkey: draw.pick(world.otpkeys) };
  switch (step) {
    case "create":
      return createUser(known);
    case "import":
      return importKey(known);
    case "deleteKey":
      return deleteKey(known);
    case "enable":
      return enableKey(known);
    case "cleanUp":
      return play.start("clean-up", () => host.context.cleanUp());
    case "time":
      return sound.advance(draw.pick([seconds(5), seconds(31), minutes(2), hours(0.5)]));
    case "continue":
      return faults.continueOne();
    case "logout":
    case "status":
    case "changePassword": {
      if (world.sessions.length === 0) return;
      const session = draw.pick(world.sessions);
      if (step === "changePassword") return changePasswordStep(known, session);
      const how = { headers: withSession(session.value) };
      if (step === "logout")
        return change(known, `log out ${session.user.id}`, () => host.call("POST", "/client/logout", how), [
          session.lives.begin(false),
        ]);
      const from = world.moments.next();
      return change(
        known,
        `status of ${session.user.id}`,
        () => host.call("GET", "/client/status", how),
        [],
        ({ status }) => {
          const possible = session.lives.possible(from, world.moments.next());
          if (status < 500 && !possible.includes(status === 200))
            world.wrong.push(`a session of ${session.user.id} must not answer ${status}`);
        },
      );
    }
    default:
      return userStep({ ...known, user: draw.pick(living) }, step);
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
  const { draw, world, host, user, otpkey } = step;
  const path = `/core/users/${user.id}`;
  const endsSessions = () => world.endSessions(session => session.user === user);
  switch (kind) {
    case "delete":
      return change(step, `delete ${user.id}`, () => host.call("DELETE", path), [
        user.exists.begin(false),
        endsSessions(),
      ]);
    case "rename": {
      const username = draw.pick(usernames);
      const writes = [user.name.begin(username), endsSessions()];
      return change(step, `rename ${user.id} to ${username}`, () => host.post(`${path}/rename`, { username }), writes);
    }
    case "reset": {
      const password = world.newPassword();
      const writes = [user.password.begin(password), endsSessions()];
      return change(step, `reset ${user.id}`, () => host.post(`${path}/reset`, { password }), writes);
    }
    case "attribute": {
      const key = draw.pick(attributeKeys);
      const value = draw.pick([...attributeValues, null]);
      const writes = [user.attributes.get(key)?.begin(value)];
      return change(
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
      // Creates the key, if there is none then.
      otpkey.exists.begin("no secret");
      const assign = () => host.post(`${path}/otpkeys`, { otpkey: otpkey.prefix });
      return change(step, `assign ${otpkey.prefix} to ${user.id}`, assign, writes);
    }
    case "unassign": {
      const writes = [user.otpkeys.get(otpkey.prefix)?.begin(false)];
      const unassign = () => host.call("DELETE", `${path}/otpkeys/${otpkey.prefix}`);
      return change(step, `unassign ${otpkey.prefix} from ${user.id}`, unassign, writes);
    }
    case "signIn":
      return signInStep(step, user);
    case "endSessions":
      return change(step, `end sessions of ${user.id}`, () => host.post(`${path}/sessions/delete`), [endsSessions()]);
    case "unlock":
      return change(step, `unlock ${user.id}`, () => host.post(`${path}/unlock`), []);
  }
}

async function createUser(step: Step): Promise<void> {
  const { draw, world, host } = step;
  const user = { username: draw.pick(usernames), password: world.newPassword() };
  const from = world.moments.next();
  const unknown = { name: user.username, password: user.password };
  world.unknownCreates.push(unknown);
  await change(
    step,
    `create ${user.username}`,
    () => host.post("/core/users", user),
    [],
    ({ status, body }) => {
      if (status === 503) return;
      world.unknownCreates.splice(world.unknownCreates.indexOf(unknown), 1);
      if (status === 201) world.addUser({ id: (body as { id: number }).id, ...unknown, from });
    },
  );
}

async function importKey(step: Step): Promise<void> {
  const { host, otpkey } = step;
  const { fields, prefix } = otpkey.software;
  await change(step, `import ${prefix}`, () => host.post("/core/otpkeys", fields), [otpkey.exists.begin("imported")]);
}

async function deleteKey(step: Step): Promise<void> {
  const { world, host, otpkey } = step;
  const { prefix } = otpkey;
  const enabled = otpkey.enabled.begin(true);
  const unassigned = { ...enabled, value: false };
  world.keyDeletions.push({ prefix, write: unassigned });
  for (const user of world.users) user.otpkeys.get(prefix)?.add(unassigned);
  otpkey.software = hotpKey({ prefix });
  otpkey.nextFactor = 0;
  const writes = [enabled, unassigned, otpkey.exists.begin("absent")];
  await change(step, `delete ${prefix}`, () => host.call("DELETE", `/core/otpkeys/${prefix}`), writes);
}

async function enableKey(step: Step): Promise<void> {
  const { draw, world, host, otpkey } = step;
  const { prefix } = otpkey;
  const isEnabled = draw.chance(0.6);
  const endsSessions = !isEnabled && draw.chance(0.5);
  const writes = [
    otpkey.enabled.begin(isEnabled),
    ...(endsSessions ? [world.endSessions(session => session.prefix === prefix)] : []),
  ];
  const path = `/core/otpkeys/${prefix}/${isEnabled ? "enable" : "disable"}`;
  const fields = endsSessions ? { end_sessions: "true" } : {};
  await change(step, `${path}${endsSessions ? " and end sessions" : ""}`, () => host.post(path, fields), writes);
}
