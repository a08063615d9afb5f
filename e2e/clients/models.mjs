// Helpers for the tests of "remit export": the exported tools, and fake model servers for the SDKs
// of model vendors.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'

import { cleanUp, remit } from './remit.mjs'

// allSets are all toolsets: the listed ones, and a hidden one.
export const allSets = [
  ...remit('__complete', 'tools', '--toolsets', '').split('\n').filter((line) => /^[a-z-]+\t/.test(line)).map((line) => line.split('\t')[0]),
  'conformance',
]

// exported returns the tools of a toolset in a format.
export function exported(set, format, ...args) {
  return JSON.parse(remit('export', '--toolsets', set, '--format', format, ...args))
}

// fakeModel starts a server that answers the requests of an SDK with the given answers in order,
// until the test ends. It returns its URL and the bodies of the requests.
export async function fakeModel(t, ...answers) {
  const bodies = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    bodies.push(JSON.parse(text))
    response.writeHead(200, { 'content-type': 'application/json', connection: 'close' })
    response.end(JSON.stringify(answers[bodies.length - 1] ?? { error: 'too many requests' }))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanUp(t, () => new Promise((resolve) => server.close(resolve)))
  return { url: `http://127.0.0.1:${server.address().port}`, bodies }
}

// executeCall makes a model's tool call over plain HTTP.
export async function executeCall(url, name, args) {
  const response = await fetch(`${url}/tools/${name}`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(args),
  })
  assert.equal(response.headers.get('content-type'), 'application/json')
  return response.json()
}

// withNulls returns the arguments of a strict model: null for each argument that it leaves out.
export function withNulls(schema, args) {
  return { ...Object.fromEntries(schema.required.map((name) => [name, null])), ...args }
}
