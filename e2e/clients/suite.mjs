// What every official TypeScript client must be able to do with Remit over stdio.
// The two files *.test.mjs say how their client is made; the rest is here.
//
// REMIT_BIN names the program. Contracts and examples come from it, too, so that a
// new tool is tested with nothing touched.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

const bin = process.env.REMIT_BIN
assert.ok(bin, 'REMIT_BIN must name the program')

const env = { PATH: process.env.PATH, HOME: tmpdir(), GORACE: 'atexit_sleep_ms=0' }
const sets = ['booster', 'learning-os']

// contracts gives the contracts of a toolset, as the program prints them.
function contracts(set) {
  return JSON.parse(execFileSync(bin, ['tools', '--json', '--toolsets', set], { env, cwd: tmpdir() }))
}

// later runs something after the test, the last first: a server before its folder.
function later(t, run) {
  if (!t.undo) {
    t.undo = []
    t.after(async () => {
      for (const step of t.undo.reverse()) await step()
    })
  }
  t.undo.push(run)
}

// workspace makes a folder with files in it, which is gone after the test.
function workspace(t, files = {}) {
  const root = mkdtempSync(join(tmpdir(), 'remit-ts-'))
  later(t, () => rmSync(root, { recursive: true, force: true }))
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), content)
  }
  return root
}

const lines = (root) => {
  const file = join(root, '.claude/memory/decisions.jsonl')
  return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : []
}

const decision = {
  file: 'decisions.jsonl',
  entry: { timestamp: '2026-01-09T10:30:00Z', type: 'stack', decision: 'SQLite for tasks' },
}

// bodyOf reads the answer of a call, and checks what holds for every one of them.
function bodyOf(result) {
  assert.equal(result.content.length, 1)
  assert.equal(result.content[0].type, 'text')
  const body = JSON.parse(result.content[0].text)
  if (result.isError) {
    assert.equal(result.structuredContent, undefined, 'an error has structured content')
  } else {
    assert.deepEqual(result.structuredContent, body, 'text and structuredContent differ')
  }
  return body
}

// masked takes the fields that vary out of an answer, once they are seen to be there.
function masked(body, expected, varies = []) {
  const copy = structuredClone(body)
  for (const field of varies) {
    const names = field.split('.')
    const last = names.pop()
    const [inside, model] = [copy, expected].map((v) => names.reduce((at, name) => at?.[name], v))
    assert.equal(typeof inside?.[last], typeof model?.[last], `${field} must be there, with its type`)
    inside[last] = model[last]
  }
  return copy
}

// suite runs everything for one client. make(person) gives { client, Transport };
// person answers elicitations, or is undefined for a client that cannot ask. call
// is callTool with options, which the clients take in different places.
export function suite(name, make, call) {
  async function connect(t, root, person, ...args) {
    const { client, Transport } = make(person)
    const transport = new Transport({
      command: bin, args: ['stdio', '--root', root, ...args], env, cwd: tmpdir(), stderr: 'pipe',
    })
    let stderr = ''
    transport.stderr.on('data', (text) => { stderr += text })
    await client.connect(transport)
    later(t, async () => {
      await client.close()
      assert.equal(stderr, '', 'on stderr')
    })
    return client
  }

  for (const set of sets) {
    test(`${name}: ${set} lists its tools as its contracts have them`, async (t) => {
      const client = await connect(t, workspace(t), undefined, '--toolsets', set)
      assert.equal(client.getServerVersion().name, 'remit')
      assert.ok(client.getServerCapabilities().tools)
      assert.match(client.getInstructions(), /read_repo_file/)
      const { tools, nextCursor } = await client.listTools()
      const known = contracts(set)
      assert.equal(nextCursor, undefined)
      assert.deepEqual(tools.map((tool) => tool.name), known.map((contract) => contract.name))
      for (const [i, tool] of tools.entries()) {
        const { hints, title, description, version, digest } = known[i]
        assert.deepEqual(tool.annotations, {
          title, readOnlyHint: hints.readOnly, destructiveHint: hints.destructive, idempotentHint: hints.idempotent, openWorldHint: hints.openWorld,
        })
        assert.deepEqual([tool.title, tool.description], [title, description])
        assert.equal(tool._meta['io.remit/version'], version)
        assert.equal(tool._meta['io.remit/digest'], digest)
        assert.equal(tool.inputSchema.type, 'object')
        assert.equal(tool.inputSchema.additionalProperties, false)
        assert.equal(tool.outputSchema.type, 'object')
      }
    })

    for (const contract of contracts(set)) {
      for (const example of contract.examples) {
        test(`${name}: ${set}/${contract.name}: ${example.title}`, async (t) => {
          const root = workspace(t, example.given)
          const client = await connect(t, root, undefined, '--toolsets', set, '--approve', example.approve || 'auto')
          await client.listTools() // from now on the client checks outputs against the schemas
          const result = await client.callTool({ name: contract.name, arguments: example.arguments })
          const body = bodyOf(result)
          const expected = example.error ?? example.result
          assert.equal(result.isError ?? false, Boolean(example.error))
          assert.deepEqual(masked(body, expected, example.varies), expected)
        })
      }
    }
  }

  test(`${name}: ping, and a tool that does not exist`, async (t) => {
    const client = await connect(t, workspace(t), undefined, '--toolsets', 'booster')
    await client.ping()
    await assert.rejects(client.callTool({ name: 'helo', arguments: {} }), (e) => {
      assert.equal(e.code, -32602)
      assert.match(e.message, /did you mean "hello"\?/)
      return true
    })
    const denied = await client.callTool({ name: 'read_repo_file', arguments: { path: '.env' } })
    assert.equal(denied.isError, true)
    assert.equal(bodyOf(denied).error.code, 403)
  })

  test(`${name}: a call with a progress token and no progress is a call like any other`, async (t) => {
    const client = await connect(t, workspace(t), undefined, '--toolsets', 'learning-os')
    const told = []
    const options = { onprogress: (p) => told.push(p), resetTimeoutOnProgress: true, timeout: 30_000 }
    const result = await call(client, { name: 'hello', arguments: { name: 'Ada' } }, options)
    assert.deepEqual(bodyOf(result), { greeting: 'Hello, Ada!' })
    assert.deepEqual(told, [])
  })

  test(`${name}: many calls at once`, async (t) => {
    const client = await connect(t, workspace(t), undefined, '--toolsets', 'learning-os')
    const names = Array.from({ length: 200 }, (_, i) => `n${i}`)
    const results = await Promise.all(names.map((n) => client.callTool({ name: 'hello', arguments: { name: n } })))
    assert.deepEqual(results.map((r) => bodyOf(r).greeting), names.map((n) => `Hello, ${n}!`))
  })

  test(`${name}: a person accepts`, async (t) => {
    const root = workspace(t)
    const shown = []
    const client = await connect(t, root, async (params) => {
      shown.push(params.message)
      return { action: 'accept', content: {} }
    }, '--toolsets', 'learning-os')
    const result = await client.callTool({ name: 'write_memory_entry', arguments: decision })
    assert.deepEqual(bodyOf(result), { success: true, line_number: 1 })
    assert.deepEqual(lines(root).map((line) => JSON.parse(line)), [decision.entry])
    assert.equal(shown.length, 1)
    assert.match(shown[0], /SQLite for tasks/)
  })

  for (const [title, wait, status] of [
    ['a person declines', 400, 'denied'],
    ['a client declines before anybody could have seen it', 0, 'pending'],
  ]) {
    test(`${name}: ${title}`, async (t) => {
      const root = workspace(t)
      const client = await connect(t, root, async () => {
        await sleep(wait)
        return { action: 'decline' }
      }, '--toolsets', 'learning-os')
      const result = await client.callTool({ name: 'write_memory_entry', arguments: decision })
      assert.equal(result.isError, true)
      assert.equal(bodyOf(result).approval.status, status)
      assert.deepEqual(lines(root), [])
    })
  }

  test(`${name}: a client that cannot ask leaves a request that waits`, async (t) => {
    const root = workspace(t)
    const client = await connect(t, root, undefined, '--toolsets', 'learning-os')
    const write = () => client.callTool({ name: 'write_memory_entry', arguments: decision })
    const { approval } = bodyOf(await write())
    assert.equal(approval.status, 'pending')
    assert.deepEqual(lines(root), [])
    execFileSync(bin, ['approvals', 'approve', approval.id, '--root', root], { env, cwd: tmpdir() })
    assert.deepEqual(bodyOf(await write()), { success: true, line_number: 1 })
    assert.equal(bodyOf(await write()).approval.status, 'pending')
    assert.equal(lines(root).length, 1)
  })
}
