import { jobScenes } from "./job-scenes.ts";
import { prove } from "./prove.ts";

prove("jobs", jobScenes);
