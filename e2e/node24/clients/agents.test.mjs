// The Agents SDK of OpenAI, with a model of our own that calls one tool. It asks
// for the modern era first, and cannot show a question.
import { Agent, MCPServerStdio, MCPServerStreamableHttp, run, setTracingDisabled, Usage } from '@openai/agents'
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { contracts, decision, greetingOf, later, lines, logged, remit, serve, sets, stdio, workspace } from '../../clients/remit.mjs'

setTracingDisabled(true)

// model calls a tool once, and then says what came of it.
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
    async * getStreamedResponse() { throw new Error('nobody asked for a stream') },
  }
}

const ways = {
  stdio: async (t, root, args) => new MCPServerStdio({ name: 'remit', ...stdio(root, ...args) }),
  http: async (t, root, args) => new MCPServerStreamableHttp({ name: 'remit', url: `${await serve(t, root, ...args)}/mcp` }),
}

test('agents over http: they speak the modern era, which has no sessions', async (t) => {
  const url = await serve(t, workspace())
  const server = new MCPServerStreamableHttp({ name: 'remit', url: `${url}/mcp` })
  await server.connect()
  later(t, () => server.close())
  await server.listTools()
  assert.match(await (await fetch(`${url}/metrics`)).text(), /^remit_sessions 0$/m)
})

for (const [way, open] of Object.entries(ways)) {
  const connect = async (t, root, ...args) => {
    const server = await open(t, root, args)
    await server.connect()
    later(t, () => server.close())
    return server
  }

  // ask lets an agent call a tool, and gives what the model was told of it.
  const ask = async (server, tool, args) => {
    const fake = model(tool, args)
    const agent = new Agent({ name: 'tester', instructions: 'Call it.', model: fake, mcpServers: [server] })
    const result = await run(agent, 'go')
    assert.equal(result.finalOutput, 'done')
    const told = result.history.find((item) => item.type === 'function_call_result')
    assert.ok(told, JSON.stringify(result.history))
    return { told: JSON.stringify(told.output), offered: fake.requests[0].tools }
  }

  for (const set of sets) {
    test(`agents over ${way}: an agent calls hello of ${set}`, async (t) => {
      const server = await connect(t, workspace(), '--toolsets', set)
      const { told, offered } = await ask(server, 'hello', { name: 'Ada' })
      assert.match(told, /Hello, Ada!/)
      assert.deepEqual(offered.map((tool) => tool.name), contracts(set).map((contract) => contract.name))
      for (const tool of offered) assert.equal(tool.parameters.type, 'object', tool.name)
    })
  }

  test(`agents over ${way}: a refusal reaches the model`, async (t) => {
    const { told } = await ask(await connect(t, workspace()), 'read_repo_file', { path: '.env' })
    assert.match(told, /Path not allowed: \.env/)
  })

  test(`agents over ${way}: a write waits for a person elsewhere`, async (t) => {
    const root = workspace()
    const server = await connect(t, root)
    const { told } = await ask(server, 'write_memory_entry', decision)
    const [, id] = /remit approvals approve ([a-z0-9]+)/.exec(told)
    assert.deepEqual(lines(root), [])
    remit('approvals', 'approve', id, '--root', root)
    await ask(server, 'write_memory_entry', decision)
    assert.deepEqual(lines(root), [decision.entry])
  })

  test(`agents over ${way}: resources, and calls without an agent`, async (t) => {
    const server = await connect(t, workspace(logged))
    const { resources } = await server.listResources()
    assert.ok(resources.some((r) => r.uri === 'memory://decisions.jsonl'))
    const { contents } = await server.readResource('memory://decisions.jsonl')
    assert.deepEqual(JSON.parse(contents[0].text), decision.entry)
    const [content] = await server.callTool('hello', { name: 'Ada' })
    assert.equal(greetingOf(JSON.parse(content.text)), 'Hello, Ada!')
  })
}
