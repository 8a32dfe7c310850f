import { prove } from "./play/prove.ts";
import { mailScenes } from "./scenes/mail-scenes.ts";

await prove("mails", mailScenes);
