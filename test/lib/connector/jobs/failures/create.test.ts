import { prove } from "./play/prove.ts";
import { createScenes } from "./scenes/create-scenes.ts";

prove("create", createScenes);
