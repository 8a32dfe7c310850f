import type { RequestValues } from "../model/loaded-request.ts";
import { isSameDue, shipmentIdOf } from "../model/request.ts";
import { isSameList, listKeyOf, listsOf, listsWithout, type RequestList } from "../model/request-lists.ts";
import { isSameStatus, shipmentStatusOf } from "../model/shipment.ts";
import { requestStates } from "../model/states.ts";
import type { DueItem, dueIndex } from "./due-index.table.ts";
import type { requestLists } from "./lists.table.ts";
import type { shipmentRecords } from "./shipment-records.table.ts";

interface Indexes {
  readonly due: ReturnType<typeof dueIndex>;
  readonly lists: ReturnType<typeof requestLists>;
  readonly shipments: ReturnType<typeof shipmentRecords>;
}

/**
 * Returns the functions that keep the index rows of a request: its due work, its lists and the record of its shipment.
 * New index rows are written before the rows of the request, and former ones removed after, so that a crash leaves a
 * row too many and never one too few.
 */
export const indexRows = ({ due, lists, shipments }: Indexes) => ({
  /**
   * Writes the index rows of `after` that `before` does not have. False if its shipment is linked to another request.
   * @param before undefined for a new request
   */
  async add(before: RequestValues | undefined, after: RequestValues): Promise<boolean> {
    const { id, delivery } = after.request;
    const former = before === undefined ? [] : dueItemsOf(before);
    const items = dueItemsOf(after).filter(each => !former.some(old => isSameItem(old, each)));
    const isNewShipment = delivery?.shipment?.id !== before?.request.delivery?.shipment?.id;
    const [isLinked] = await Promise.all([
      delivery?.shipment === undefined || !isNewShipment
        ? true
        : shipments.link(delivery.shipment.id, id, shipmentStatusOf(after.request, after.keys)),
      ...items.map(due.add),
      lists.enter(listKeyOf(after.request), newLists(before, after)),
    ]);
    return isLinked;
  },

  /** Writes a changed status to the shipment's record, and unlinks a shipment that the request has no more. */
  async updateShipment(before: RequestValues, { request, keys }: RequestValues): Promise<void> {
    const former = shipmentIdOf(before.request);
    if (former === undefined) return;
    if (former !== shipmentIdOf(request)) return shipments.unlink(former, request.id);
    const status = shipmentStatusOf(request, keys);
    if (!isSameStatus(shipmentStatusOf(before.request, before.keys), status))
      await shipments.update(former, request.id);
  },

  /**
   * Removes the index rows of `before` that `after` does not have.
   * @param options `hasLeftLists` if the lists were left before
   */
  async removeFormer(before: RequestValues, after: RequestValues, { hasLeftLists = false } = {}): Promise<void> {
    const current = dueItemsOf(after);
    const items = dueItemsOf(before).filter(old => !current.some(each => isSameRow(old, each)));
    await Promise.all([...items.map(due.remove), ...(hasLeftLists ? [] : [this.leaveFormer(before, after)])]);
  },

  /** Removes a request from the lists of `before` that `after` does not have. */
  leaveFormer: (before: RequestValues, after: RequestValues): Promise<void> =>
    lists.leave(listKeyOf(before.request), newLists(after, before)),

  /** Removes the index rows, except those by which a job or an erasure finds the request again after a crash. */
  async removeOthers(values: RequestValues, foundBy: RequestList | undefined): Promise<void> {
    const { request } = values;
    const { id, delivery } = request;
    // A crash may have left a rejected shipment linked.
    const { shipment, rejectedShipmentIds = [] } = delivery ?? {};
    for (const linked of [...rejectedShipmentIds, ...(shipment === undefined ? [] : [shipment.id])])
      await shipments.unlink(linked, id);
    // A crash may have left a row in the list of another state. It would stay until that list is read, so an erasure
    // removes it now.
    const own = listsOf(values);
    const states = listsWithout(foundBy === undefined ? [] : requestStates.map(state => ({ state })), own);
    await lists.leave(
      listKeyOf(request),
      [...own, ...states].filter(list => foundBy === undefined || !isSameList(list, foundBy)),
    );
  },

  /** Removes the index rows by which a job or an erasure finds the request. */
  async removeFound(values: RequestValues, foundBy: RequestList | undefined): Promise<void> {
    await Promise.all(dueItemsOf(values).map(due.remove));
    if (foundBy !== undefined) await lists.leave(listKeyOf(values.request), [foundBy]);
  },
});

/** Returns the work that is due on a request and its security keys. */
export const dueItemsOf = ({ request, keys }: RequestValues): readonly DueItem[] => [
  ...[request.due, request.trackDue, request.replaceDue].flatMap(due =>
    due === undefined ? [] : [{ due, requestId: request.id }],
  ),
  ...keys.flatMap(key => (key.due === undefined ? [] : [{ due: key.due, requestId: request.id, keyId: key.id }])),
];

const isSameRow = (a: DueItem, b: DueItem): boolean =>
  a.keyId === b.keyId && a.due.queue === b.due.queue && a.due.at === b.due.at && a.due.peer === b.due.peer;

const isSameItem = (a: DueItem, b: DueItem): boolean => a.keyId === b.keyId && isSameDue(a.due, b.due);

/** Returns the lists to which a change adds a request. */
export const newLists = (before: RequestValues | undefined, after: RequestValues): readonly RequestList[] =>
  listsWithout(listsOf(after), before === undefined ? [] : listsOf(before));
