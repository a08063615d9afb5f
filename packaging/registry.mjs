// Prints server.json for a release in the MCP registry: with the name of the owner who publishes
// it, and the digest of each bundle.
//
//   node packaging/registry.mjs OWNER FOLDER_OF_BUNDLES > bin/server.json
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";

const [owner, folder] = process.argv.slice(2);
if (!/^[A-Za-z0-9-]+$/.test(owner ?? "") || !folder) {
  console.error("usage: node packaging/registry.mjs OWNER FOLDER_OF_BUNDLES");
  process.exit(2);
}
const text = readFileSync(new URL("../server.json", import.meta.url), "utf8");
const server = JSON.parse(text.replaceAll("io.github.example/", `io.github.${owner}/`).replaceAll("/example/", `/${owner}/`));
for (const pkg of server.packages.filter(({ registryType }) => registryType === "mcpb")) {
  pkg.fileSha256 = createHash("sha256").update(readFileSync(join(folder, basename(pkg.identifier)))).digest("hex");
}
process.stdout.write(JSON.stringify(server, null, 2) + "\n");
