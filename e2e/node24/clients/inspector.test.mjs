// The command line of the MCP Inspector. It checks every schema for constructs that some client
// does not support, and must have no findings.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'

import { bin, bodyOf, contracts, decision, env, greetingOf, serve, sets, withEntry, workspace } from '../../clients/remit.mjs'

const home = mkdtempSync(join(tmpdir(), 'remit-inspector-'))
after(() => rmSync(home, { recursive: true, force: true }))

const command = join(dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/inspector/package.json')), 'clients/cli/build/index.js')

// inspect runs one method and returns its result. A tool error is a result too.
function inspect(target, era, ...args) {
  const line = [command, '--protocol-era', era, '--format', 'json', '--method', ...args, ...target]
  return new Promise((resolve, reject) => {
    execFile(process.execPath, line, { env: { ...env, HOME: home }, cwd: home }, (error, stdout, stderr) => {
      const failed = error?.code === 5 // a tool error
      if (error && !failed) return reject(new Error(`${args.join(' ')}: ${error.message}\n${stdout}\n${stderr}`))
      if (!failed) assert.equal(stderr, '', 'unexpected stderr')
      resolve(JSON.parse(stdout))
    })
  })
}

const transports = {
  stdio: async (t, root, set) => ['--', bin, 'stdio', '--root', root, '--toolsets', set],
  http: async (t, root, set) => ['--transport', 'http', '--server-url', `${await serve(t, root, '--toolsets', set)}/mcp/${set}`],
}

// Each call takes half a second of CPU time. So each set is checked over one transport in each era,
// and over both in ./test.sh --full.
const full = process.env.REMIT_FULL === 'true'

for (const [via, open] of Object.entries(transports)) {
  for (const era of ['legacy', 'modern']) {
    const straight = (via === 'stdio') === (era === 'legacy')
    const some = full ? sets : straight ? sets.slice(0, 1) : sets.slice(1)
    for (const set of full || straight ? [...sets, 'conformance'] : []) {
      test(`inspector, ${era} over ${via}: ${set} has no findings`, async (t) => {
        const target = await open(t, workspace(), set)
        const { result, schemaFindings } = await inspect(target, era, 'tools/list', '--strict')
        assert.deepEqual(result.tools.map((tool) => tool.name), contracts(set).map((contract) => contract.name))
        assert.equal(schemaFindings, undefined, JSON.stringify(schemaFindings))
      })
    }
    for (const set of some) {
      test(`inspector, ${era} over ${via}: tools, resources and prompts of ${set}`, async (t) => {
        const target = await open(t, workspace(withEntry), set)
        const call = async (...args) => (await inspect(target, era, ...args)).result
        const [hello, denied, resources, read, prompts] = await Promise.all([
          call('tools/call', '--tool-name', 'hello', '--tool-arg', 'name=Ada'),
          call('tools/call', '--tool-name', 'read_repo_file', '--tool-arg', 'path=.env'),
          call('resources/list'),
          call('resources/read', '--uri', 'memory://decisions.jsonl'),
          call('prompts/list'),
        ])
        assert.equal(greetingOf(bodyOf(hello)), 'Hello, Ada!')
        assert.equal(denied.isError, true)
        assert.ok(resources.resources.some((r) => r.uri === 'memory://decisions.jsonl'))
        assert.deepEqual(JSON.parse(read.contents[0].text), decision.entry)
        assert.equal(prompts.prompts.length, 3)
      })
    }
  }
}
