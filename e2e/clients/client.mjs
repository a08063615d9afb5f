// The official client with support for the modern era: @modelcontextprotocol/client.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

import { suite } from './suite.mjs'

// clientSuite tests the client in one of its modes: legacy, or auto, which tries the modern era
// first.
export function clientSuite(mode) {
  suite(`client, ${mode}`, {
    make(person) {
      const client = new Client({ name: 'client', version: '1' }, {
        capabilities: person ? { elicitation: { form: {} } } : {},
        versionNegotiation: { mode },
      })
      if (person) client.setRequestHandler('elicitation/create', (request) => person(request.params))
      return client
    },
    call: (client, params, options) => client.callTool(params, options),
    Stdio: StdioClientTransport,
    Http: StreamableHTTPClientTransport,
    modern: mode === 'auto',
    allExamples: mode === 'auto', // sdk.test.mjs replays all examples in the legacy era
  })
}
