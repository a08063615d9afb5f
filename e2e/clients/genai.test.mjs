// Google's SDK, which passes the tools of an MCP client to Gemini. These tests do not call Gemini:
// they check what the SDK would send, and that calls reach Remit.
import { mcpToTool } from '@google/genai'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { bodyOf, cleanUp, contracts, greetingOf, serve, sets, stdio, workspace } from './remit.mjs'

const transports = {
  stdio: async (t, ...args) => new StdioClientTransport(stdio(workspace(), ...args)),
  http: async (t, ...args) => new StreamableHTTPClientTransport(new URL('/mcp', await serve(t, workspace(), ...args))),
}

for (const [via, open] of Object.entries(transports)) {
  for (const set of [...sets, 'conformance']) {
    test(`genai over ${via}: ${set}`, async (t) => {
      const client = new Client({ name: 'genai', version: '1' })
      await client.connect(await open(t, '--toolsets', set))
      cleanUp(t, () => client.close())
      const tool = mcpToTool(client)
      const { functionDeclarations } = await tool.tool()
      assert.deepEqual(functionDeclarations.map((f) => f.name), contracts(set).map((c) => c.name))
      for (const declared of functionDeclarations) {
        assert.match(declared.name, /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/) // names that Gemini accepts
        assert.ok(declared.description && declared.parametersJsonSchema.type === 'object', declared.name)
      }
      if (set === 'conformance') return
      const parts = await tool.callTool([
        { name: 'hello', args: { name: 'Ada' } },
        { name: 'read_repo_file', args: { path: '.env' } },
      ])
      const [hello, denied] = parts.map((part) => part.functionResponse)
      assert.equal(greetingOf(bodyOf(hello.response)), 'Hello, Ada!')
      assert.ok(JSON.stringify(denied.response).includes('.env'), JSON.stringify(denied.response))
    })
  }
}
