// The second official client, of the era after: @modelcontextprotocol/client.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

import { suite } from './suite.mjs'

// clientSuite runs it in one of its modes: legacy, or auto, which asks for the
// modern era first.
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
    whole: mode === 'auto', // the legacy era is the first client's to replay
  })
}
