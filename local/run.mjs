// Runs a task of package.json. An older Node cannot read the other files: this one is in the syntax of Node 12, and says so.
const version = process.versions.node;
if (Number(version.split(".")[0]) < 20) {
  console.error(
    `Node ${version} is too old: install Node 20 or later (https://nodejs.org), best the current LTS version.`,
  );
  process.exitCode = 1;
} else {
  void import("./tasks.mjs");
}
