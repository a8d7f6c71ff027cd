// Compiles the package. npm runs this before it packs the package, after `npm install` here, and
// when another project installs this directory: then the compiler is not installed yet.

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const cwd = dirname(fileURLToPath(import.meta.url));
const compiler = join(cwd, "node_modules/typescript/bin/tsc");

if (!existsSync(compiler)) {
  // Options of the outer npm, such as `--global`, are not for this one.
  const outer = ["npm_config_global", "npm_config_location", "npm_config_prefix", "npm_config_workspace"];
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !outer.includes(name)));
  const options = ["ci", "--include=dev", "--ignore-scripts", "--no-audit", "--no-fund"];
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  execFileSync(npm, options, { cwd, env, stdio: "inherit", shell: process.platform === "win32" });
}
execFileSync(process.execPath, [compiler, "-p", "tsconfig.build.json"], { cwd, stdio: "inherit" });
