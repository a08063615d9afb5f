// The tools as "remit export" prints them, and models to take them: programs of our
// own, at the addresses where the SDKs of those who make models look for theirs.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'

import { later, remit } from './remit.mjs'

// allSets are all toolsets that there are: those that people are told of, and one
// that they are not.
export const allSets = [
  ...remit('__complete', 'tools', '--toolsets', '').split('\n').filter((line) => /^[a-z-]+\t/.test(line)).map((line) => line.split('\t')[0]),
  'conformance',
]

// exported gives the tools of a toolset in a form.
export function exported(set, format, ...args) {
  return JSON.parse(remit('export', '--toolsets', set, '--format', format, ...args))
}

// fakeModel answers the requests of an SDK in turn, for the length of a test. It
// gives its address, and keeps what it was sent.
export async function fakeModel(t, ...answers) {
  const bodies = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request.setEncoding('utf8')) text += piece
    bodies.push(JSON.parse(text))
    response.writeHead(200, { 'content-type': 'application/json', connection: 'close' })
    response.end(JSON.stringify(answers[bodies.length - 1] ?? { error: 'it was asked too often' }))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  later(t, () => new Promise((resolve) => server.close(resolve)))
  return { url: `http://127.0.0.1:${server.address().port}`, bodies }
}

// carryOut makes a call that a model wants, where a script would.
export async function carryOut(url, name, args) {
  const response = await fetch(`${url}/tools/${name}`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(args),
  })
  assert.equal(response.headers.get('content-type'), 'application/json')
  return response.json()
}

// withNulls is a call as a strict model makes it: null for all that it leaves out.
export function withNulls(schema, args) {
  return { ...Object.fromEntries(schema.required.map((name) => [name, null])), ...args }
}
