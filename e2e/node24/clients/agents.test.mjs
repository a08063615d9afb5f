// OpenAI's Agents SDK, with a fake model that calls one tool. The SDK tries the modern era first,
// and does not support elicitation.
import { Agent, MCPServerStdio, MCPServerStreamableHttp, run, setTracingDisabled, Usage } from '@openai/agents'
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { approve, cleanUp, contracts, decision, entries, greetingOf, serve, sets, stdio, withEntry, workspace } from '../../clients/remit.mjs'

setTracingDisabled(true)

// model returns a fake model that calls a tool once and then answers with a text.
function model(name, args) {
  const requests = []
  return {
    requests,
    async getResponse(request) {
      requests.push(request)
      const output = requests.length === 1
        ? { type: 'function_call', callId: 'call-1', name, arguments: JSON.stringify(args), status: 'completed' }
        : { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'done' }] }
      return { usage: new Usage(), output: [output] }
    },
    async * getStreamedResponse() { throw new Error('streaming is not supported') },
  }
}

const transports = {
  stdio: async (t, root, args) => new MCPServerStdio({ name: 'remit', ...stdio(root, ...args) }),
  http: async (t, root, args) => new MCPServerStreamableHttp({ name: 'remit', url: `${await serve(t, root, ...args)}/mcp` }),
}

test('agents over http: they use the modern era, which has no sessions', async (t) => {
  const url = await serve(t, workspace())
  const server = new MCPServerStreamableHttp({ name: 'remit', url: `${url}/mcp` })
  await server.connect()
  cleanUp(t, () => server.close())
  await server.listTools()
  assert.match(await (await fetch(`${url}/metrics`)).text(), /^remit_sessions 0$/m)
})

for (const [via, open] of Object.entries(transports)) {
  const connect = async (t, root, ...args) => {
    const server = await open(t, root, args)
    await server.connect()
    cleanUp(t, () => server.close())
    return server
  }

  // ask lets an agent call a tool, and returns the output and the tools that the model got.
  const ask = async (server, tool, args) => {
    const fake = model(tool, args)
    const agent = new Agent({ name: 'tester', instructions: 'Call it.', model: fake, mcpServers: [server] })
    const result = await run(agent, 'go')
    assert.equal(result.finalOutput, 'done')
    const called = result.history.find((item) => item.type === 'function_call_result')
    assert.ok(called, JSON.stringify(result.history))
    return { output: JSON.stringify(called.output), offered: fake.requests[0].tools }
  }

  for (const set of sets) {
    test(`agents over ${via}: an agent calls hello of ${set}`, async (t) => {
      const server = await connect(t, workspace(), '--toolsets', set)
      const { output, offered } = await ask(server, 'hello', { name: 'Ada' })
      assert.match(output, /Hello, Ada!/)
      assert.deepEqual(offered.map((tool) => tool.name), contracts(set).map((contract) => contract.name))
      for (const tool of offered) assert.equal(tool.parameters.type, 'object', tool.name)
    })
  }

  test(`agents over ${via}: a tool error reaches the model`, async (t) => {
    const { output } = await ask(await connect(t, workspace()), 'read_repo_file', { path: '.env' })
    assert.match(output, /Path not allowed: \.env/)
  })

  test(`agents over ${via}: a write is approved in a terminal`, async (t) => {
    const root = workspace()
    const server = await connect(t, root)
    const { output } = await ask(server, 'write_memory_entry', decision)
    const [, id] = /request ([a-z0-9]+) waits/.exec(output)
    assert.deepEqual(entries(root), [])
    await approve(id, root)
    await ask(server, 'write_memory_entry', decision)
    assert.deepEqual(entries(root), [decision.entry])
  })

  test(`agents over ${via}: resources, and calls without an agent`, async (t) => {
    const server = await connect(t, workspace(withEntry))
    const { resources } = await server.listResources()
    assert.ok(resources.some((r) => r.uri === 'memory://decisions.jsonl'))
    const { contents } = await server.readResource('memory://decisions.jsonl')
    assert.deepEqual(JSON.parse(contents[0].text), decision.entry)
    const [content] = await server.callTool('hello', { name: 'Ada' })
    assert.equal(greetingOf(JSON.parse(content.text)), 'Hello, Ada!')
  })
}
