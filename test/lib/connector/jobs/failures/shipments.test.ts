import { prove } from "./prove.ts";
import { shipmentScenes } from "./shipment-scenes.ts";

prove("shipments", shipmentScenes);
