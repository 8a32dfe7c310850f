/** Of every user of the bench. */
export const password = "correct horse battery";
