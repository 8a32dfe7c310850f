// Before `azd up`: azd reads the parameters before any other hook runs.
import { brokenValues, stopOn } from "./values.mjs";

stopOn(brokenValues(process.env));
