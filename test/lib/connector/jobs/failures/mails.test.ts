import { mailScenes } from "./mail-scenes.ts";
import { prove } from "./prove.ts";

prove("mails", mailScenes);
