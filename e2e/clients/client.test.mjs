// The second official client, of the era after: @modelcontextprotocol/client.
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

import { suite } from './suite.mjs'

for (const mode of ['legacy', 'auto']) { // auto asks for the new era first
  suite(`client, ${mode}`, (person) => {
    const client = new Client({ name: 'client', version: '1' }, {
      capabilities: person ? { elicitation: { form: {} } } : {},
      versionNegotiation: { mode },
    })
    if (person) client.setRequestHandler('elicitation/create', (request) => person(request.params))
    return { client, Transport: StdioClientTransport }
  }, (client, params, options) => client.callTool(params, options))
}
