// The Inspector at its command line. It looks at every schema for what some client
// could stumble over, and has to find nothing.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'

import { bin, bodyOf, contracts, decision, env, greetingOf, logged, serve, sets, workspace } from '../../clients/remit.mjs'

const home = mkdtempSync(join(tmpdir(), 'remit-inspector-'))
after(() => rmSync(home, { recursive: true, force: true }))

const command = join(dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/inspector/package.json')), 'clients/cli/build/index.js')

// inspect runs one method and gives its result. Some tools fail on purpose.
function inspect(target, era, ...args) {
  const line = [command, '--protocol-era', era, '--format', 'json', '--method', ...args, ...target]
  return new Promise((resolve, reject) => {
    execFile(process.execPath, line, { env: { ...env, HOME: home }, cwd: home }, (error, stdout, stderr) => {
      const failed = error?.code === 5 // a tool that answered with an error
      if (error && !failed) return reject(new Error(`${args.join(' ')}: ${error.message}\n${stdout}\n${stderr}`))
      if (!failed) assert.equal(stderr, '', 'on stderr')
      resolve(JSON.parse(stdout))
    })
  })
}

const ways = {
  stdio: async (t, root, set) => ['--', bin, 'stdio', '--root', root, '--toolsets', set],
  http: async (t, root, set) => ['--transport', 'http', '--server-url', `${await serve(t, root, '--toolsets', set)}/mcp/${set}`],
}

// It takes half a second of a processor for each call. So each set is looked at over one way in
// each era, and over both ways if there is time: ./test.sh --full.
const full = process.env.REMIT_FULL === 'true'

for (const [way, open] of Object.entries(ways)) {
  for (const era of ['legacy', 'modern']) {
    const straight = (way === 'stdio') === (era === 'legacy')
    const some = full ? sets : straight ? sets.slice(0, 1) : sets.slice(1)
    for (const set of full || straight ? [...sets, 'conformance'] : []) {
      test(`inspector, ${era} over ${way}: ${set} has no finding`, async (t) => {
        const target = await open(t, workspace(), set)
        const { result, schemaFindings } = await inspect(target, era, 'tools/list', '--strict')
        assert.deepEqual(result.tools.map((tool) => tool.name), contracts(set).map((contract) => contract.name))
        assert.equal(schemaFindings, undefined, JSON.stringify(schemaFindings))
      })
    }
    for (const set of some) {
      test(`inspector, ${era} over ${way}: tools, resources and prompts of ${set}`, async (t) => {
        const target = await open(t, workspace(logged), set)
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
