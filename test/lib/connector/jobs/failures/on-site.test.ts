import { prove } from "./play/prove.ts";
import { onSiteScenes } from "./scenes/on-site-scenes.ts";

await prove("on-site", onSiteScenes);
