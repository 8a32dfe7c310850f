import { onSiteScenes } from "./on-site-scenes.ts";
import { prove } from "./prove.ts";

prove("on-site", onSiteScenes);
