import { createScenes } from "./create-scenes.ts";
import { prove } from "./prove.ts";

prove("create", createScenes);
