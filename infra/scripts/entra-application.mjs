// The API as an application of Entra: what it is, who holds its roles. Everything here may run again.

/** Roles that the APIs ask for (decision G3). Their ids are ours, so a second run finds what the first one made. */
const roles = [
  {
    id: "5e0d1f52-4c36-4d0e-9a6c-6d1c6f3b8a01",
    value: "Core.Admin",
    displayName: "Administer users and keys",
    description: "May call the Core API: every user, password and one-time-password key.",
  },
  {
    id: "5e0d1f52-4c36-4d0e-9a6c-6d1c6f3b8a02",
    value: "Connector.Call",
    displayName: "Order credentials",
    description: "May call the connector: order keys and credentials for any person.",
  },
  {
    id: "5e0d1f52-4c36-4d0e-9a6c-6d1c6f3b8a04",
    value: "Core.Read",
    displayName: "Read users and keys",
    description: "May make the calls of the Core API that only read.",
  },
  {
    id: "5e0d1f52-4c36-4d0e-9a6c-6d1c6f3b8a05",
    value: "Core.Support",
    displayName: "Help users",
    description: "May also unlock and disable users, end sessions, disable keys and issue temporary codes.",
  },
  {
    id: "5e0d1f52-4c36-4d0e-9a6c-6d1c6f3b8a06",
    value: "Core.Import",
    displayName: "Import keys",
    description: "May also import one-time-password keys, and assign them during the import.",
  },
  {
    id: "5e0d1f52-4c36-4d0e-9a6c-6d1c6f3b8a07",
    value: "Connector.Read",
    displayName: "Read orders",
    description: "May make the calls of the connector that only read.",
  },
  {
    id: "5e0d1f52-4c36-4d0e-9a6c-6d1c6f3b8a08",
    value: "Connector.Support",
    displayName: "Help recipients",
    description: "May also send PIN emails again, cancel orders, revoke credentials and offboard people.",
  },
];

/** Names of the roles. */
export const roleNames = roles.map(({ value }) => value);

/** What a person's token is asked for with; it allows nothing by itself. */
const scope = {
  id: "5e0d1f52-4c36-4d0e-9a6c-6d1c6f3b8a03",
  value: "access_as_user",
  type: "Admin",
  isEnabled: true,
  adminConsentDisplayName: "Call as the signed-in person",
  adminConsentDescription: "Calls the API as the signed-in person, who needs a role for it.",
};

/** The Azure CLI, the same in every tenant. */
const azureCli = "04b07795-8ddb-461a-bbee-02f9e1bf7b46";
const microsoftGraph = "00000003-0000-0000-c000-000000000000";

/** Application permissions that register passkeys for others: the narrow one, and the one of tenants that do not have it yet. */
const narrowPermission = "UserAuthMethod-Passkey.ReadWrite.All";
const broadPermission = "UserAuthenticationMethod.ReadWrite.All";
/** What the checks of users and of the tenant's passkey policy read. */
const checkPermissions = ["User.Read.All", "Policy.Read.AuthenticationMethod"];

/**
 * Makes the application, or brings an existing one up to date; what others added to it stays.
 * @param name by which it is found again
 * @param forPeople whether people who hold a role get tokens by the Azure CLI
 */
export async function ensureApplication(graph, name, { forPeople, tell }) {
  const key = `/applications(uniqueName='${encodeURIComponent(name)}')`;
  const made = await graph.patch(
    key,
    { displayName: name, signInAudience: "AzureADMyOrg" },
    { headers: { prefer: "create-if-missing" } },
  );
  tell(made === undefined ? `The application ${name} was there.` : `Made the application ${name}.`);
  const there = await graph.get(`${key}?$select=id,appId,appRoles,api,identifierUris`, { retryStatuses: [404] });
  const path = `/applications/${there.id}`;

  const uri = `api://${there.appId}`;
  await graph.patch(
    path,
    {
      identifierUris: [...new Set([...there.identifierUris, uri])],
      appRoles: [...there.appRoles, ...missing(there.appRoles, roles).map(enabled)],
      api: {
        requestedAccessTokenVersion: 2,
        ...(forPeople && { oauth2PermissionScopes: withOurs(there.api?.oauth2PermissionScopes ?? [], [scope]) }),
      },
    },
    { retryStatuses: [404] },
  );
  // Only a scope that is there can be given away.
  if (forPeople)
    await graph.patch(path, { api: { preAuthorizedApplications: withCli(there.api) } }, { retryStatuses: [404] });

  const principal = await ensurePrincipal(graph, there.appId, tell);
  const allRoles = [...there.appRoles, ...missing(there.appRoles, roles)];
  return {
    appId: there.appId,
    principalId: principal.id,
    roleId: value => allRoles.find(role => role.value === value)?.id,
  };
}

const missing = (there, ours) => ours.filter(({ value }) => !there.some(each => each.value === value));
const withOurs = (there, ours) => [...there, ...missing(there, ours)];
const enabled = role => ({ ...role, isEnabled: true, allowedMemberTypes: ["User", "Application"] });

function withCli(api) {
  const there = api?.preAuthorizedApplications ?? [];
  const others = there.filter(({ appId }) => appId !== azureCli);
  const given = there.find(({ appId }) => appId === azureCli)?.delegatedPermissionIds ?? [];
  const scopeId = (api?.oauth2PermissionScopes ?? []).find(({ value }) => value === scope.value)?.id ?? scope.id;
  return [...others, { appId: azureCli, delegatedPermissionIds: [...new Set([...given, scopeId])] }];
}

/** Creates the service principal, for which only users and applications with a role get a token. */
async function ensurePrincipal(graph, appId, tell) {
  const path = `/servicePrincipals(appId='${appId}')`;
  const there = await graph.get(`${path}?$select=id,appRoleAssignmentRequired`, { missing: true });
  if (there === undefined) {
    tell("Made its service principal.");
    // The directory that is asked may not know the application yet: it answers 400.
    return await graph.post("/servicePrincipals", { appId, appRoleAssignmentRequired: true }, { retryStatuses: [400] });
  }
  if (!there.appRoleAssignmentRequired) {
    await graph.patch(`/servicePrincipals/${there.id}`, { appRoleAssignmentRequired: true });
    tell("Tokens are given to holders of a role alone from now on.");
  }
  return there;
}

/** Gives a role of the API to a service principal, managed identity, person or group. */
export async function ensureRole(graph, { principalId: resourceId }, { principalId, appRoleId, title, tell }) {
  const path = `/servicePrincipals/${resourceId}/appRoleAssignedTo`;
  const there = await graph.list(`${path}?$top=999`);
  if (there.some(each => each.principalId === principalId && each.appRoleId === appRoleId)) {
    tell(`${principalId} already has ${title}.`);
    return;
  }
  await graph.post(path, { principalId, resourceId, appRoleId }, { retryStatuses: [404] });
  tell(`Gave ${title} to ${principalId}.`);
}

/** Returns whether an identity may register passkeys, with either permission. */
export async function hasPasskeyPermission(graph, principalId) {
  const { id, appRoles } = await graph.get(`/servicePrincipals(appId='${microsoftGraph}')?$select=id,appRoles`);
  const wanted = appRoles.filter(({ value }) => value === narrowPermission || value === broadPermission);
  const assigned = await graph.list(`/servicePrincipals/${principalId}/appRoleAssignments?$top=999`);
  return assigned.some(({ resourceId, appRoleId }) => resourceId === id && wanted.some(role => role.id === appRoleId));
}

/**
 * Lets the connector's identity register passkeys in the tenant (kind B, decision C13), so that no client secret exists.
 * @param broad takes the broad permission even where the narrow one exists
 * @param checks also lets it read users and the policies of authentication methods
 */
export async function ensurePasskeyPermission(graph, principalId, { broad, checks, tell }) {
  const resource = await graph.get(`/servicePrincipals(appId='${microsoftGraph}')?$select=id,appRoles`);
  const roleOf = value =>
    resource.appRoles.find(role => role.value === value && role.allowedMemberTypes.includes("Application"));
  const narrow = roleOf(narrowPermission);
  const wanted = broad || narrow === undefined ? roleOf(broadPermission) : narrow;
  if (wanted === undefined)
    throw new Error(`Microsoft Graph offers neither ${narrowPermission} nor ${broadPermission}.`);
  if (narrow === undefined) tell(`This tenant has no ${narrowPermission} yet.`);

  const path = `/servicePrincipals/${principalId}/appRoleAssignments`;
  const assigned = await graph.list(`${path}?$top=999`);
  const holds = role => assigned.some(each => each.resourceId === resource.id && each.appRoleId === role?.id);
  for (const value of [wanted.value, ...(checks ? checkPermissions : [])]) {
    const role = roleOf(value);
    if (role === undefined) tell(`This tenant has no ${value} yet.`);
    else if (holds(role)) tell(`The connector's identity already has ${value}.`);
    else {
      await graph.post(path, { principalId, resourceId: resource.id, appRoleId: role.id }, { retryStatuses: [404] });
      tell(`Gave ${value} to the connector's identity.`);
      tell("It takes effect within 24 hours, because Azure caches the tokens of managed identities.");
    }
  }
  const other = [roleOf(narrowPermission), roleOf(broadPermission)].find(
    role => role && role.id !== wanted.id && holds(role),
  );
  if (other !== undefined) tell(`It also has ${other.value}: remove it if it is not needed.`);
}
