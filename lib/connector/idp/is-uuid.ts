/** Whether an id is a UUID. As the id of a user, it is one that no rename changes. */
export const isUuid = (id: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id);
