import { prove } from "./play/prove.ts";
import { shipmentScenes } from "./scenes/shipment-scenes.ts";

await prove("shipments", shipmentScenes);
