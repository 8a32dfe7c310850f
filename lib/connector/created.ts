/** What a create gives: the ids of the request and, where keys are shipped, of the shipment. */
export interface Created {
  readonly requestId: string;
  readonly shipmentId?: string;
}
