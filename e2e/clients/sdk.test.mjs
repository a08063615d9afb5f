// The official client that most programs use: @modelcontextprotocol/sdk.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'

import { suite } from './suite.mjs'

suite('sdk', {
  make(person) {
    const client = new Client({ name: 'sdk', version: '1' }, { capabilities: person ? { elicitation: {} } : {} })
    if (person) client.setRequestHandler(ElicitRequestSchema, (request) => person(request.params))
    return client
  },
  call: (client, params, options) => client.callTool(params, undefined, options),
  Stdio: StdioClientTransport,
  Http: StreamableHTTPClientTransport,
  modern: false,
  allExamples: true,
})
