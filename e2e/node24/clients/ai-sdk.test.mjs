// Vercel's AI SDK. It tries the modern era first, unless that is turned off.
import { createMCPClient, ElicitationRequestSchema } from '@ai-sdk/mcp'
import { Experimental_StdioMCPTransport as StdioTransport } from '@ai-sdk/mcp/mcp-stdio'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { bodyOf, cleanUp, contracts, decision, dialogHeaders, entries, greetingOf, readingTime, serve, sets, stdio, withEntry, workspace } from '../../clients/remit.mjs'

const transports = {
  stdio: async (t, root, person, args) => new StdioTransport({ ...stdio(root, ...args), stderr: 'ignore' }),
  http: async (t, root, person, args) => {
    const headers = person ? await dialogHeaders(root) : {}
    return { type: 'http', url: `${await serve(t, root, ...args)}/mcp`, headers }
  },
}

// noise matches harmless errors of the SDK in the legacy era over HTTP: it listens before there is
// a session, it parses the empty first event of a stream as a message, and it closes its own
// connections.
const noise = /GET SSE failed: 400|Failed to parse message|This operation was aborted/

for (const [via, open] of Object.entries(transports)) {
  for (const version of ['2025-11-25', '2026-07-28']) {
    const connect = async (t, root, person, ...args) => {
      const errors = []
      const client = await createMCPClient({
        transport: await open(t, root, person, args),
        capabilities: person ? { elicitation: {} } : {},
        protocolVersionDiscovery: version === '2026-07-28',
        onUncaughtError: (error) => errors.push(error.message),
      })
      cleanUp(t, async () => {
        await client.close()
        assert.deepEqual(errors.filter((message) => !(via === 'http' && version === '2025-11-25' && noise.test(message))), [])
      })
      assert.equal(client.initializeResult.protocolVersion, version)
      if (person) client.onElicitationRequest(ElicitationRequestSchema, (request) => person(request.params))
      return client
    }
    const each = (title, run) => test(`ai-sdk, ${version} over ${via}: ${title}`, run)

    for (const set of sets) {
      each(`the tools of ${set}`, async (t) => {
        const client = await connect(t, workspace(), undefined, '--toolsets', set)
        assert.equal(client.serverInfo.name, 'remit')
        const tools = await client.tools()
        assert.deepEqual(Object.keys(tools), contracts(set).map((contract) => contract.name))
        const options = { toolCallId: '1', messages: [] }
        assert.equal(greetingOf(bodyOf(await tools.hello.execute({ name: 'Ada' }, options))), 'Hello, Ada!')
        const denied = await tools.read_repo_file.execute({ path: '.env' }, options)
        assert.equal(denied.isError, true)
        assert.match(denied.content[0].text, /\.env/)
      })
    }

    for (const [title, answer, want] of [
      ['a person accepts', { action: 'accept', content: {} }, [decision.entry]],
      ['a person declines', { action: 'decline' }, []],
    ]) {
      each(title, async (t) => {
        const root = workspace()
        const shown = []
        const client = await connect(t, root, async ({ message }) => {
          shown.push(message)
          await sleep(readingTime)
          return answer
        })
        const result = await client.callTool({ name: 'write_memory_entry', arguments: decision })
        assert.equal(result.isError ?? false, want.length === 0)
        assert.deepEqual(entries(root), want)
        assert.equal(shown.length, 1)
        assert.match(shown[0], /SQLite for tasks/)
      })
    }

    each('an approval, and then a question of the tool in the same call', async (t) => {
      let asked = 0
      const client = await connect(t, workspace(), async () => {
        asked++
        await sleep(readingTime)
        return { action: 'accept', content: asked === 1 ? {} : { reason: 'it is time' } }
      }, '--toolsets', 'conformance')
      const result = await client.callTool({ name: 'test_guarded_elicitation', arguments: {} })
      assert.equal(result.content[0].text, 'Done, because it is time')
      assert.equal(asked, 2)
    })

    each('resources and prompts', async (t) => {
      const client = await connect(t, workspace(withEntry))
      const { resources } = await client.listResources()
      assert.ok(resources.some((r) => r.uri === 'memory://decisions.jsonl'))
      const { contents } = await client.readResource({ uri: 'memory://decisions.jsonl' })
      assert.deepEqual(JSON.parse(contents[0].text), decision.entry)
      const { prompts } = await client.listPrompts()
      assert.ok(prompts.some((p) => p.name === 'plan_my_day'))
      const { messages } = await client.getPrompt({ name: 'record_decision', arguments: { title: 'Use SQLite' } })
      assert.match(messages[0].content.text, /Use SQLite/)
    })
  }
}
