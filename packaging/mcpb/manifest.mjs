// Prints manifest.json with the version and the tools of the program.
//
//   node manifest.mjs REMIT EMPTY_FOLDER [SYSTEM]
//
// With a system (linux, darwin, windows), the manifest is only for that system.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const [remit, folder, system] = process.argv.slice(2);
const manifest = JSON.parse(readFileSync(new URL("manifest.json", import.meta.url), "utf8"));

// The settings of the user who builds must not get into a bundle.
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("REMIT_")));
const run = (...args) => execFileSync(remit, args, { encoding: "utf8", env, maxBuffer: 64 << 20 });
manifest.version = run("version").trim().replace(/^remit /, "");
manifest.tools = JSON.parse(run("export", "--format", "mcp", "--root", folder)).map(({ name, description }) => ({ name, description }));

if (system) {
  const windows = system === "windows";
  manifest.compatibility.platforms = [windows ? "win32" : system];
  if (windows) {
    manifest.server.entry_point += ".exe";
    manifest.server.mcp_config.command += ".exe";
  }
}
process.stdout.write(JSON.stringify(manifest, null, 2) + "\n");
