import { prove } from "./play/prove.ts";
import { onSiteScenes } from "./scenes/on-site-scenes.ts";

prove("on-site", onSiteScenes);
