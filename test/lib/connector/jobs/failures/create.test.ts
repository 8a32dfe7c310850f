import { prove } from "./play/prove.ts";
import { createScenes } from "./scenes/create-scenes.ts";

await prove("create", createScenes);
